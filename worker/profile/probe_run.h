// SPDX-License-Identifier: Apache-2.0
//
// Runs the rounds of a probe (proto/profile.proto): the real role, its loop and
// its schedule, against an exchange whose other side needs no time
// (stand_in_exchange.h). A colocated worker runs both roles without a stand-in.
//
// Owner: a worker in profile mode; at most one per process, because peak memory
// is counted per process. Thread safety: the compute thread, without another
// TraceListener or TraceWriter.
// Errors: those of the role's factory and rounds; RESOURCE_EXHAUSTED for lack
// of memory.
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
  // `config` must be valid, with a worker of each role and without AUTO.
  static absl::StatusOr<std::unique_ptr<ProbeRun>> Create(
      Role role, const RoleFactories& factories, const RunConfig& config);

  // Runs uncounted rounds, at least one turn (repetitions.h). Returns the mean
  // seconds per round of the last turn.
  absl::StatusOr<double> WarmUp();

  // Runs at least one turn until the median is known (Probe.is_settled; only
  // with `until_settled`) or `limit` is over. On a GPU, runs more rounds in
  // which each operation waits for the GPU, to measure the operations.
  absl::StatusOr<Probe> Measure(absl::Duration limit, bool until_settled);

  bool Plays(Role role) const { return role_ == role || role_ == COLOCATED; }
  // Size of the trained state of a role that this probe runs.
  StateSize StateOf(Role role) const;

 private:
  // Measurements of a round, without waits.
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
  // Returns the means of `get` over each `rounds` consecutive rounds.
  std::vector<double> Means(
      int64_t rounds, const std::function<double(const Round&)>& get) const;
  // Returns the interval of the median seconds per round over repetitions.
  MedianInterval RoundInterval() const;
  void AddPeaks(Probe& probe) const;
  std::vector<OperationTime> Operations() const;
  // Runs more rounds in which each operation waits for the GPUs.
  absl::StatusOr<std::vector<OperationTime>> OperationsOnGpus(
      absl::Duration limit, double round_seconds);

  const Role role_;
  const RunConfig config_;
  const RunPlan plan_;
  const int64_t turn_;        // rounds
  const int64_t repetition_;  // rounds: whole turns
  RoundGate gate_;
  TraceListener trace_;
  // Exchanges of a single role; a colocated worker uses ends_.
  std::unique_ptr<GeneratorExchange> generator_exchange_;
  std::unique_ptr<DiscriminatorExchange> discriminator_exchange_;
  std::unique_ptr<ExchangeEnds> ends_;
  // The generator first. Destroyed before the members above.
  std::vector<std::unique_ptr<TrainingRole>> roles_;
  int64_t resting_bytes_ = 0;
  // Memory in use before the first round, by GPU of the role.
  std::map<at::DeviceIndex, int64_t> gpus_;

  absl::Time round_began_;
  std::vector<Round> rounds_;  // since the start of the last RunUntil
  std::function<bool()> is_enough_;
  bool done_ = false;
};

}  // namespace gandem
