// SPDX-License-Identifier: Apache-2.0
//
// Predicts the speed of a plan on growing numbers of devices, with stragglers
// (docs/cost_model.md section 8).
// Owner: values. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names the part of the plan that cannot be scaled.
// Errors of MakeRunShape and ScalePlan are in their row, and returned if all
// rows fail.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// --- A plan scaled to another number of devices ---

enum class Scaling {
  kWeak,   // constant images per device: batches grow
  kStrong  // constant batches
};

struct ScaledPlan {
  RunConfig config = {};
  Machines machines = {};
  Placement placement = {};
  int generators = 1;
  int discriminators = 1;
};

// Scales `candidate` of a plan for `machines` and keeps its proportion of
// roles. A device is a worker; a single device is a colocated worker. The hosts
// are repeated in order, each with as many workers as the plan's first host.
absl::StatusOr<ScaledPlan> ScalePlan(const Candidate& candidate,
                                     const Machines& machines, int devices,
                                     Scaling scaling);

struct StudyOptions {
  std::vector<int> devices = {};  // ascending
  // See SimulationOptions. Negative: the variation of the profile's rounds.
  double jitter = 0;
  uint64_t seed = 1;
};

struct ScalingRow {
  int devices = 0;
  int generators = 0;
  int discriminators = 0;
  int64_t batch = 0;  // images per round that the discriminator trains on
  double images_per_second = 0;
  // Images per second and device, relative to the first row.
  double efficiency = 0;
  double generator_wait = 0;  // shares of the round
  double discriminator_wait = 0;
  std::string bottleneck = {};
  std::string why_not = {};  // if not empty, the other fields are invalid
};

// Parses numbers and ranges, separated by commas. The range 1..1024 stands for
// both ends and the powers of two between them.
//   INVALID_ARGUMENT  names the fault in `text`
absl::StatusOr<std::vector<int>> ParseDevices(absl::string_view text);

// Returns the variation of the profile's rounds: the median over its probes,
// from their intervals; 0 if none has an interval.
double MeasuredJitter(const Profile& profile);

absl::StatusOr<std::vector<ScalingRow>> StudyScaling(
    const Profile& profile, const Plan& plan, Scaling scaling,
    const StudyOptions& options);

}  // namespace gandem
