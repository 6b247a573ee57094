// SPDX-License-Identifier: Apache-2.0
//
// A run in virtual time, until its rounds take the same time each: a
// discrete-event simulation of the real schedule
// (docs/cost_model.md section 5).
//
// Owner: values. Thread safety: pure functions.
// Errors: INTERNAL  nobody can go on, and who waits for what: a bug of ours.
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
  // Standard deviation of the logarithm of what a rank's computing of a round
  // is multiplied by; the mean of the factor is 1.
  double jitter = 0;
  uint64_t seed = 1;
  // With jitter: rounds that are measured. Without: at most.
  int64_t rounds = 256;
};

// Of a steady stretch of rounds.
struct SimulatedRounds {
  int64_t rounds = 0;
  double round_seconds = 0;  // mean
  // Mean over the ranks: seconds of a round that they wait for each thing.
  RoleWaits generator_waits = {};
  RoleWaits discriminator_waits = {};
  // A round's bytes between two hosts, of the pair with the most, and that
  // pair; empty: there is one host.
  int64_t link_bytes = 0;
  std::string link = {};
  // Of the time that the busiest host's link was sending.
  double link_share = 0;
  // From the beginning of the run.
  std::vector<double> round_ends = {};  // of the whole discriminator fleet
  ExchangeCounts counts = {};
};

absl::StatusOr<SimulatedRounds> SimulateRun(const RunShape& shape,
                                            const SimulationOptions& options);

// What simulated rounds say to a person: speed, shares of waiting, bytes of the
// busiest link and the bottleneck.
Prediction SummaryOf(const RunShape& shape, const SimulatedRounds& rounds);

}  // namespace gandem
