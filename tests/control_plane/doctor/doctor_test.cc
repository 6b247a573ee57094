// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "common/config/run_config.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    config_ = EffectiveConfig(RunConfig());
    config_->set_name("a run");
  }

  // Runs the command and returns its output. The exit code is in code_.
  std::string Run(DoctorOptions options) {
    options.run_dir = run_dir_ / "run";
    std::ostringstream out;
    const auto code = RunDoctor(
        options, [this] { return config_; }, out);
    EXPECT_OK(code);
    code_ = code.value_or(-1);
    return out.str();
  }

  const TempDir run_dir_;
  absl::StatusOr<RunConfig> config_ = RunConfig();
  int code_ = -1;
};

TEST_F(DoctorTest, ProblemsThatGandemTrainWouldRefuseAreReported) {
  config_ = absl::InvalidArgumentError("r:3:1: RunConfig has no field 'x'");
  EXPECT_THAT(Run({.recipe = "r"}),
              AllOf(HasSubstr("FAULT    run: r:3:1"), HasSubstr("run folder: "),
                    Not(HasSubstr(" disk: "))));
  EXPECT_EQ(code_, kExitFaults);
}

TEST_F(DoctorTest, MissingCertificatesAreReported) {
  EXPECT_THAT(Run({.recipe = "p", .certificates = run_dir_ / "none"}),
              AllOf(HasSubstr("ok       run: a run passes"),
                    HasSubstr("FAULT    secrets: ")));
  EXPECT_EQ(code_, kExitFaults);
}

TEST_F(DoctorTest, WithoutARunFolderNoOtherHostIsContacted) {
  ASSERT_OK(WriteFile(run_dir_ / "run", "a file in its place"));
  EXPECT_THAT(
      Run({.hosts = {"127.0.0.1:1"}}),
      AllOf(HasSubstr("FAULT    run folder: "), Not(HasSubstr(" reach: "))));
  EXPECT_EQ(code_, kExitFaults);
}

TEST_F(DoctorTest, EveryCheckPrintsOneLine) {
  const std::string said = Run({.recipe = "r"});
  for (const char* const check :
       {" run folder: ", " secrets: ", " run: ", " disk: "}) {
    EXPECT_THAT(said, HasSubstr(check));
  }
}

TEST_F(DoctorTest, AnAddressThatCannotBeListenedOnEndsTheDoctor) {
  std::ostringstream out;
  EXPECT_THAT(RunDoctor(
                  {.recipe = "r",
                   .run_dir = run_dir_ / "run",
                   .listen = "10.255.255.1:7000"},
                  [this] { return config_; }, out),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("cannot listen on 10.255.255.1:7000")));
}

}  // namespace
}  // namespace gandem
