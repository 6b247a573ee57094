// SPDX-License-Identifier: Apache-2.0
//
// The rounds of a probe (proto/profile.proto): the real role, its loop and its
// schedule, against an exchange whose other side needs no time
// (stand_in_exchange.h). A colocated worker has both roles, and no stand-in.
//
// Owner: a worker in profile mode; a process has one at most, so that one
// probe's peak of memory is not another's.
// Thread safety: the compute thread. No TraceListener or TraceWriter beside it.
// Errors: those of the role's factory and of its rounds; RESOURCE_EXHAUSTED
// where memory ends.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/trace/trace_listener.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/round_gate.h"
#include "worker/exchange_ends.h"
#include "worker/profile/operation_times.h"
#include "worker/profile/repetitions.h"

namespace gandem {

class ProbeRun {
 public:
  // `config` is valid, has a worker of each role and no AUTO.
  static absl::StatusOr<std::unique_ptr<ProbeRun>> Create(
      Role role, const RoleFactories& factories, const RunConfig& config);

  // Rounds that do not count: at least a turn (repetitions.h). Returns what one
  // took, in seconds, as the mean of the last turn.
  absl::StatusOr<double> WarmUp();

  // Turns until the median is known (Probe.is_settled) or `limit` is over, at
  // least one; with `until_settled` false always as long as that. On a GPU some
  // more, of which operations are known: each waits for the GPU.
  absl::StatusOr<Probe> Measure(absl::Duration limit, bool until_settled);

  bool Plays(Role role) const { return role_ == role || role_ == COLOCATED; }
  // Bytes of what a role that it plays trains.
  StateSize StateOf(Role role) const;

 private:
  // Measurements of one round, without waits.
  struct Round {
    double seconds = 0;
    OperationSeconds operations = {};
  };

  ProbeRun(Role role, const RunConfig& config);

  absl::Status Build(const RoleFactories& factories);
  absl::Status MakeExchanges();
  absl::Status BuildRoles(const RoleFactories& factories);
  // Runs rounds until `is_enough`, which is called after each turn.
  absl::Status RunUntil(std::function<bool()> is_enough);
  void EndRound(const RoundMetrics& metrics);
  // Means of `get` over each `rounds` consecutive rounds.
  std::vector<double> Means(
      int64_t rounds, const std::function<double(const Round&)>& get) const;
  // Interval of the median, over repetitions, of the seconds per round.
  MedianInterval RoundInterval() const;
  void AddPeaks(Probe& probe) const;
  // Times of the operations in the last rounds.
  std::vector<OperationTime> Operations() const;
  // Times of the operations in further rounds, in which each operation waits
  // for the GPUs.
  absl::StatusOr<std::vector<OperationTime>> OperationsOnGpus(
      absl::Duration limit, double round_seconds);

  const Role role_;
  const RunConfig config_;
  const RunPlan plan_;
  const int64_t turn_;        // rounds
  const int64_t repetition_;  // rounds: whole turns
  RoundGate gate_;
  TraceListener trace_;
  // Exchanges of the role; those of a colocated worker are in ends_.
  std::unique_ptr<GeneratorExchange> generator_exchange_;
  std::unique_ptr<DiscriminatorExchange> discriminator_exchange_;
  std::unique_ptr<ExchangeEnds> ends_;
  // The generator first; end before the above.
  std::vector<std::unique_ptr<TrainingRole>> roles_;
  int64_t resting_bytes_ = 0;
  // Memory in use before the first round, for each GPU that the role computes
  // on.
  std::map<at::DeviceIndex, int64_t> gpus_;

  absl::Time round_began_;
  std::vector<Round> rounds_;  // since the last RunUntil began
  std::function<bool()> is_enough_;
  bool done_ = false;
};

}  // namespace gandem
