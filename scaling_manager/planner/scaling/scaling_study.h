// SPDX-License-Identifier: Apache-2.0
//
// A plan on more and more devices: how fast it would be, with stragglers
// (docs/cost_model.md section 8).
//
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names what of the plan cannot be scaled; those of
// MakeRunShape and ScalePlan for the first number of devices that is possible
// at all; a row says why it has none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// --- A plan on another number of devices: fleets of the same proportion,
// batches that grow with them or stay, hosts like those it was made for ---

enum class Scaling {
  kWeak,   // batches grow: the images of a device stay
  kStrong  // batches stay
};

struct ScaledPlan {
  RunConfig config = {};
  Machines machines = {};
  Placement placement = {};
  int generators = 1;
  int discriminators = 1;
};

// `candidate` of a plan for `machines`. A device is a worker; one device is a
// colocated worker. Hosts come again in their order, each with as many workers
// as the plan's first host has.
absl::StatusOr<ScaledPlan> ScalePlan(const Candidate& candidate,
                                     const Machines& machines, int devices,
                                     Scaling scaling);

// --- The study ---

struct StudyOptions {
  std::vector<int> devices = {};  // ascending
  // As SimulationOptions; below 0: as the profile's rounds varied.
  double jitter = 0;
  uint64_t seed = 1;
};

struct ScalingRow {
  int devices = 0;
  int generators = 0;
  int discriminators = 0;
  int64_t batch = 0;  // images of a round that the discriminator trains on
  double images_per_second = 0;
  // Images per second and device, of that of the first row.
  double efficiency = 0;
  double generator_wait = 0;  // shares of the round
  double discriminator_wait = 0;
  std::string bottleneck = {};
  std::string why_not = {};  // not empty: the rest says nothing
};

// 1..1024 is the powers of two from the one to the other, both ends included;
// numbers and ranges are separated by commas.
//   INVALID_ARGUMENT  says what is wrong with `text`.
absl::StatusOr<std::vector<int>> ParseDevices(absl::string_view text);

// Of the rounds that the profile measured, from their intervals: the median of
// its probes; 0: it has none.
double MeasuredJitter(const Profile& profile);

absl::StatusOr<std::vector<ScalingRow>> StudyScaling(
    const Profile& profile, const Plan& plan, Scaling scaling,
    const StudyOptions& options);

}  // namespace gandem
