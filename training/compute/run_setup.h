// SPDX-License-Identifier: Apache-2.0
//
// From a validated RunConfig to what the parts of a run take. Protos stop here.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"
#include "proto/config.pb.h"
#include "proto/metrics.pb.h"
#include "training/compute/compute.h"

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

// The device of the worker at `position` among those of its role on a host with
// `num_gpus`. "cuda" is a GPU for each as far as they last: generators count
// from the first one up, discriminators from the last one down. All others are
// themselves.
std::string DeviceOf(const RoleConfig& role, Role which, int position,
                     int num_gpus);

// `config` with the devices that a worker at `position` on this host has.
RunConfig WithDevices(RunConfig config, int position);

ExchangeOptions ExchangeOptionsFrom(const RunConfig& config,
                                    const EpochPlace& place);

}  // namespace gandem
