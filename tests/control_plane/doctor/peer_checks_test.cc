// SPDX-License-Identifier: Apache-2.0
//
// Two doctors over real connections, and faults planted between them.
#include "control_plane/doctor/peer_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/monotonic_time.h"
#include "common/version.h"
#include "control_plane/doctor/doctor_service.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/testing/test_credentials.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::gandem::testing::TestToken;
using ::gandem::testing::UseTestCredentials;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string Lines(const Findings& findings) {
  return absl::StrJoin(findings, "\n",
                       [](std::string* out, const Finding& finding) {
                         out->append(FindingLine(finding));
                       });
}

class PeerChecksTest : public ::testing::Test {
 protected:
  PeerChecksTest() { UseTestCredentials(); }
  ~PeerChecksTest() override { UseTestCredentials(); }

  std::unique_ptr<RpcServer> Listen(DoctorService& service) {
    auto server = StartDoctorServer("127.0.0.1:0", &service);
    EXPECT_OK(server);
    return *std::move(server);
  }
  // Returns the address of a server that has stopped.
  std::string DeadAddress() {
    DoctorService service("unused");
    return Listen(service)->address();
  }

  const TempDir run_dir_;
  const TempDir elsewhere_;
  DoctorService here_{run_dir_.path()};
  DoctorService there_{run_dir_.path()};
};

TEST_F(PeerChecksTest, TwoMatchingHostsPass) {
  const auto here = Listen(here_);
  const auto there = Listen(there_);
  const Findings found =
      CheckPeer(there->address(), here->address(), run_dir_.path());
  EXPECT_FALSE(HasFault(found)) << Lines(found);
  for (const char* const check :
       {"ok       version: ", "ok       clock: ", "ok       shared folder: ",
        "ok       way back: "}) {
    EXPECT_THAT(Lines(found), HasSubstr(check));
  }
  EXPECT_THAT(*ListDirectory(run_dir_ / "state"), IsEmpty());
}

TEST_F(PeerChecksTest, ARunFolderThatIsNotSharedIsReported) {
  DoctorService other(elsewhere_.path());
  const auto there = Listen(other);
  const std::string lines =
      Lines(CheckPeer(there->address(), "", run_dir_.path()));
  EXPECT_THAT(lines, AllOf(HasSubstr("FAULT    shared folder: "),
                           HasSubstr(run_dir_.path())));
}

TEST_F(PeerChecksTest, AHostThatDoesNotAnswerIsReported) {
  const std::string address = DeadAddress();
  const std::string lines = Lines(CheckPeer(address, "", run_dir_.path()));
  EXPECT_THAT(lines, AllOf(StartsWith("FAULT    reach: " + address),
                           HasSubstr("firewall"), Not(HasSubstr("\n"))));
  EXPECT_THAT(*ListDirectory(run_dir_ / "state"), IsEmpty());
}

TEST_F(PeerChecksTest, ABlockedReturnPathIsReported) {
  const auto there = Listen(there_);
  const std::string own = DeadAddress();
  const std::string lines =
      Lines(CheckPeer(there->address(), own, run_dir_.path()));
  EXPECT_THAT(lines,
              AllOf(HasSubstr("FAULT    way back: "),
                    HasSubstr("does not reach " + own), HasSubstr("--listen")));
}

TEST_F(PeerChecksTest, AHostWithAnotherTokenIsReported) {
  const auto there = Listen(there_);
  SetProcessCredentials({.token = std::string(64, 'b'), .token_file = "other"});
  EXPECT_THAT(Lines(CheckPeer(there->address(), "", run_dir_.path())),
              AllOf(StartsWith("FAULT    reach: "),
                    HasSubstr("has another token"), HasSubstr("--token_file")));
}

TEST_F(PeerChecksTest, AnotherReleaseIsReported) {
  EXPECT_THAT(FindingLine(JudgeVersion("beta", "0.0.9")),
              AllOf(StartsWith("FAULT"), HasSubstr("gandem 0.0.9"),
                    HasSubstr("same release")));
}

TEST_F(PeerChecksTest, AnotherProcessorIsReported) {
  LookReply reply;
  (*reply.mutable_numerics())["CPU capability"] = "AVX2";
  EXPECT_THAT(
      FindingLine(JudgeNumerics("beta", reply, {{"CPU capability", "AVX2"}})),
      StartsWith("ok "));
  EXPECT_THAT(
      FindingLine(JudgeNumerics("beta", reply, {{"CPU capability", "AVX512"}})),
      AllOf(HasSubstr("CPU capability is AVX2 (beta) and AVX512 (this host)"),
            HasSubstr("ATEN_CPU_CAPABILITY")));
}

TEST_F(PeerChecksTest, AClockDifferenceIsReported) {
  PeerLook look = {.reply = {},
                   .round_trip = absl::Milliseconds(200),
                   .asked_at = absl::FromUnixSeconds(1000)};
  // A difference of up to the call's duration plus a second is accepted.
  for (const double there : {1000.1, 1001.2, 999.0}) {
    look.reply.set_unix_seconds(there);
    EXPECT_THAT(FindingLine(JudgeClock("beta", look)), StartsWith("ok "));
  }
  for (const double there : {1001.3, 998.9, 4600.0}) {
    look.reply.set_unix_seconds(there);
    EXPECT_THAT(FindingLine(JudgeClock("beta", look)),
                AllOf(StartsWith("FAULT"), HasSubstr("NTP")));
  }
}

TEST_F(PeerChecksTest, OtherHostsReadOnlyProofs) {
  ASSERT_OK(CreateDirectories(run_dir_ / "state"));
  ASSERT_OK(WriteFile(run_dir_ / "state/token", "secret"));
  const auto there = Listen(there_);
  for (const char* const name :
       {"token", "../config.textproto", "doctor-../../../token",
        "doctor-0123456789abcde/"}) {
    EXPECT_THAT(
        AskForLook(there->address(), name, MonotonicNow() + absl::Seconds(60)),
        StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
}

}  // namespace
}  // namespace gandem
