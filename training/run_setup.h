// SPDX-License-Identifier: Apache-2.0
//
// From a validated RunConfig to what the parts of a run take. Protos stop here.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"
#include "training/compute.h"

namespace gandem {

// A worker's place in a run epoch.
struct EpochPlace {
  int rank = 0;  // among the workers of its role that take part
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int64_t first_round = 0;
  int64_t saved_rounds = 0;  // in the newest complete checkpoint
};

// Of a generator or a discriminator.
const RoleConfig& RoleConfigOf(const RunConfig& config, Role role);

Schedule ScheduleFrom(const RunConfig& config);

// `choice` has no AUTO in it (choose_compute.h).
//   FAILED_PRECONDITION  the device is not there; says what is.
absl::StatusOr<Compute> ComputeFrom(const RoleConfig& role,
                                    const ComputeChoice& choice);

ExchangeOptions ExchangeOptionsFrom(const RunConfig& config,
                                    const EpochPlace& place);

}  // namespace gandem
