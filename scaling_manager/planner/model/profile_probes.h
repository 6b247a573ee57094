// SPDX-License-Identifier: Apache-2.0
//
// The probes of a profile that are of a role's worker.
//
// Owner: values; copy freely. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names the probe and the field that cannot be;
// NOT_FOUND what was not measured, what was, and how to measure it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/profile.pb.h"

namespace gandem {

// Which probes count. AUTO takes the precision and the layout of which a round
// takes the least time per image.
struct RoleSettings {
  Role role = GENERATOR;
  RoleConfig::Precision precision = RoleConfig::FLOAT32;
  MemoryLayout layout = NCHW;
  int threads = 0;  // 0: any, as on a GPU
  ScheduleConfig::FeedbackMode feedback = ScheduleConfig::SNAPSHOT;
  ScheduleConfig::ImageSource image_source = ScheduleConfig::REUSED;

  auto operator<=>(const RoleSettings&) const = default;
};

// Are all numbers of the profile such as can be?
absl::Status CheckProfile(const Profile& profile);

// `settings` without AUTO.
absl::StatusOr<RoleSettings> Resolve(const Profile& profile,
                                     RoleSettings settings);

// The measured probes of a role with these settings, whatever their feedback
// and their source of images.
std::vector<const Probe*> ProbesOf(const Profile& profile,
                                   const RoleSettings& settings);

// Other settings in which the role was measured, with less in common at each
// step: in another mode or with another source of images, with other threads,
// with other kernels.
std::vector<RoleSettings> OthersOf(const Profile& profile,
                                   const RoleSettings& settings);

// "FLOAT32, NCHW, 1 thread"
std::string SettingsText(const RoleSettings& settings);

// How many passes a step of the probe has, and images of one: the mean,
// rounded.
int64_t PassesOf(const ProbeSettings& settings);
int64_t PassImages(const ProbeSettings& settings);

// In FUSED the training pass does more: are the probe's passes those of the
// settings?
bool SamePasses(const Probe& probe, const RoleSettings& settings);

// NOT_FOUND: `what`, with the settings, is not in the profile.
absl::Status NotMeasured(const Profile& profile, const RoleSettings& settings,
                         const std::string& what);

// Of the memory that limits such a worker: its GPU's, or the process's where it
// has none. 0: not known.
int64_t LimitedPeakBytes(const Probe& probe);

}  // namespace gandem
