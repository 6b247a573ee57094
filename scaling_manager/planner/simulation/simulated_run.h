// SPDX-License-Identifier: Apache-2.0
//
// Simulates a run in virtual time until all rounds take the same time: a
// discrete-event simulation of the real schedule (docs/cost_model.md section
// 5).
// Owner: values. Thread safety: pure functions.
// Errors: INTERNAL  all workers wait, a bug of the simulation; names the waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/simulated_exchange.h"
#include "scaling_manager/planner/simulation/simulated_worker.h"

namespace gandem {

struct SimulationOptions {
  // Standard deviation of log(factor on a rank's compute time in a round).
  double jitter = 0;
  uint64_t seed = 1;
  // Number of measured rounds with jitter, largest number without jitter.
  int64_t rounds = 256;
};

// Times of a series of steady rounds.
struct SimulatedRounds {
  int64_t rounds = 0;
  double round_seconds = 0;  // mean
  // Seconds of a round that ranks wait, by reason, averaged over the ranks.
  RoleWaits generator_waits = {};
  RoleWaits discriminator_waits = {};
  // Bytes per round between the pair of hosts with the most traffic, and the
  // names of that pair; empty with one host.
  int64_t link_bytes = 0;
  std::string link = {};
  // Share of the time in which the busiest host's link was sending.
  double link_share = 0;
  // Ends of the discriminator fleet's rounds, and counts, since the run began.
  std::vector<double> round_ends = {};
  ExchangeCounts counts = {};
};

absl::StatusOr<SimulatedRounds> SimulateRun(const RunShape& shape,
                                            const SimulationOptions& options);

// Summarizes simulated rounds and names the bottleneck.
Prediction SummaryOf(const RunShape& shape, const SimulatedRounds& rounds);

}  // namespace gandem
