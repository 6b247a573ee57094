// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the coordinator's calls. An input is a list of calls: a byte for the
// kind of call, a byte for the request's size, and the request as protobuf
// bytes. Between calls time passes and workers die. A registration without a
// release gets this release, and a worker that joins without a proof sees the
// run folder. Incarnations are random, so n stands for the n-th incarnation
// that was assigned.
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/results/run_folder.h"
#include "control_plane/coordinator/coordinator.h"
#include "proto/control.pb.h"
#include "tests/fuzz/input_file.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

constexpr int64_t kRounds = 10;
constexpr WorkerKey kWorkers[] = {{DISCRIMINATOR, 0}, {GENERATOR, 0}};

Coordinator::Options SomeRun(const std::string& run_dir, Clock* clock) {
  return {.run_name = "fuzz",
          .run_dir = run_dir,
          .config_text = "rounds: 10\n",
          .config_hash = 7,
          .epoch = {.rounds = kRounds,
                    .workers = {kWorkers[0], kWorkers[1]},
                    .external = true},
          .clock = clock};
}

template <typename Request>
Request Parse(absl::string_view bytes) {
  Request request;
  // gRPC never passes a request that cannot be parsed to a handler; here the
  // fields before the error are kept.
  (void)request.ParsePartialFromArray(bytes.data(),
                                      static_cast<int>(bytes.size()));
  return request;
}

// Checks that the code is documented in proto/control.proto.
void CheckCode(const absl::Status& status) {
  GANDEM_CHECK(status.ok() || absl::IsNotFound(status) ||
               absl::IsFailedPrecondition(status) ||
               absl::IsInvalidArgument(status) || absl::IsUnavailable(status));
}

class Caller {
 public:
  explicit Caller(Coordinator* coordinator, testing::FakeClock* clock)
      : coordinator_(coordinator), clock_(clock) {}

  void Call(int which, absl::string_view bytes) {
    switch (which % 6) {
      case 0:
        return Register(Parse<RegisterRequest>(bytes));
      case 1:
        return Join(Signed<JoinRequest>(bytes));
      case 2:
        return CheckCode(
            coordinator_->Heartbeat(Signed<HeartbeatRequest>(bytes)).status());
      case 3:
        return CheckCode(
            coordinator_->ReportShard(Signed<ShardReport>(bytes)).status());
      case 4:
        clock_->Advance(absl::Seconds(bytes.size()));
        (void)coordinator_->Tick();
        return;
      default:
        coordinator_->WorkerExited(kWorkers[bytes.size() % 2], 1, "exit 1");
    }
  }

  // Checks that no call moves the status backward.
  void CheckStatus() {
    const StatusReply status = coordinator_->Status();
    GANDEM_CHECK(status.run_epoch() >= run_epoch_);
    run_epoch_ = status.run_epoch();
    GANDEM_CHECK(status.completed_rounds() >= 0 &&
                 status.completed_rounds() <= kRounds);
    GANDEM_CHECK(status.last_checkpoint_step() >= 0 &&
                 status.last_checkpoint_step() <= kRounds);
    GANDEM_CHECK(status.workers_size() == std::ssize(kWorkers));
  }

 private:
  int64_t Meant(int64_t number) const {
    const bool is_given = number >= 1 && number <= std::ssize(given_);
    return is_given ? given_[static_cast<size_t>(number - 1)] : number;
  }
  template <typename Request>
  Request Signed(absl::string_view bytes) const {
    auto request = Parse<Request>(bytes);
    request.set_incarnation(Meant(request.incarnation()));
    return request;
  }

  void Register(RegisterRequest request) {
    request.set_previous_incarnation(Meant(request.previous_incarnation()));
    if (request.binary_version().empty()) {
      request.set_binary_version(std::string(GandemVersion()));
    }
    const auto reply = coordinator_->Register(request);
    CheckCode(reply.status());
    // Every incarnation is unique.
    if (!reply.ok()) return;
    GANDEM_CHECK(reply->incarnation() > 0);
    GANDEM_CHECK(std::ranges::count(given_, reply->incarnation()) == 0);
    given_.push_back(reply->incarnation());
    const auto proof =
        RunFolder(reply->run_dir()).ReadProof(reply->proof_file());
    GANDEM_CHECK_OK(proof.status());
    proof_ = *proof;
  }
  void Join(JoinRequest request) {
    if (request.proof().empty()) request.set_proof(proof_);
    CheckCode(coordinator_->Join(request).status());
  }

  Coordinator* const coordinator_;
  testing::FakeClock* const clock_;
  int64_t run_epoch_ = 0;
  std::vector<int64_t> given_;  // incarnations
  std::string proof_;
};

}  // namespace
}  // namespace gandem

// Run folders are in memory because a coordinator syncs each of its files.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (gandem::PathExists("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const testing::TempDir run_dir;
  testing::FakeClock clock;
  auto coordinator = Coordinator::Create(SomeRun(run_dir.path(), &clock));
  GANDEM_CHECK_OK(coordinator.status());
  Caller caller(coordinator->get(), &clock);
  ForEachCall(TextOf(data, size), [&](int which, absl::string_view bytes) {
    caller.Call(which, bytes);
    caller.CheckStatus();
  });
  // All that it has written is in its own two folders.
  const auto names = ListDirectory(run_dir.path());
  GANDEM_CHECK_OK(names.status());
  for (const std::string& name : *names) {
    GANDEM_CHECK(name == "state" || name == "checkpoints");
  }
  return 0;
}
