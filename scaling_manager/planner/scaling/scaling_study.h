// SPDX-License-Identifier: Apache-2.0
//
// A plan on more and more devices: how fast it would be, with stragglers and
// failures (docs/cost_model.md sections 8 and 9).
//
// Owner: values. Thread safety: pure functions.
// Errors: those of MakeRunShape and ScalePlan for the first number of devices
// that is possible at all; a row says why it has none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/scaling/failures.h"
#include "scaling_manager/planner/scaling/scaled_plan.h"

namespace gandem {

struct StudyOptions {
  std::vector<int> devices = {};  // ascending
  // As SimulationOptions; below 0: as the profile's rounds varied.
  double jitter = 0;
  uint64_t seed = 1;
  // mean_between is that of one device.
  FailureModel failures = {};
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
  // With failures: the part of the time that counts, and the work between
  // checkpoints with which it is largest, in seconds and in rounds.
  double useful = 1;
  double checkpoint_seconds = 0;
  int64_t checkpoint_rounds = 0;
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

// Changes of the schedule and of the sums that let more of the waiting
// overlap, in the order in which they cost quality; those that the config
// allows and that are none.
struct Variant {
  std::string name = {};
  Candidate candidate = {};
};
std::vector<Variant> OverlapVariants(const Candidate& candidate);

}  // namespace gandem
