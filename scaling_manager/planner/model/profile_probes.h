// SPDX-License-Identifier: Apache-2.0
//
// Selects the probes of a profile that measured a role's worker.
// Owner: values; copy freely. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names the probe and the invalid field. NOT_FOUND
// names the missing and the existing measurements, and the remedy.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/profile.pb.h"

namespace gandem {

// Settings of probes. AUTO selects the fastest precision and layout.
struct RoleSettings {
  Role role = GENERATOR;
  RoleConfig::Precision precision = RoleConfig::FLOAT32;
  MemoryLayout layout = NCHW;
  int threads = 0;  // 0: any, as on a GPU
  ScheduleConfig::FeedbackMode feedback = ScheduleConfig::SNAPSHOT;
  ScheduleConfig::ImageSource image_source = ScheduleConfig::REUSED;

  auto operator<=>(const RoleSettings&) const = default;
};

// Checks that all numbers of the profile are possible.
absl::Status CheckProfile(const Profile& profile);

// Returns `settings` with AUTO resolved.
absl::StatusOr<RoleSettings> Resolve(const Profile& profile,
                                     RoleSettings settings);

// Returns the role's measured probes; ignores feedback and image source.
std::vector<const Probe*> ProbesOf(const Profile& profile,
                                   const RoleSettings& settings);

// Returns other settings in which the role was measured, the most similar
// first: another mode or image source, then other threads, then other kernels.
std::vector<RoleSettings> OthersOf(const Profile& profile,
                                   const RoleSettings& settings);

// Example: "FLOAT32, NCHW, 1 thread".
std::string SettingsText(const RoleSettings& settings);

// PassesOf() returns the number of passes in a step of the probe, PassImages()
// the rounded mean number of images in a pass.
int64_t PassesOf(const ProbeSettings& settings);
int64_t PassImages(const ProbeSettings& settings);

// Returns whether the probe's training passes do the same work as passes with
// the settings: passes with FUSED do more.
bool SamePasses(const Probe& probe, const RoleSettings& settings);

// Returns NOT_FOUND: the profile has no `what` with these settings.
absl::Status NotMeasured(const Profile& profile, const RoleSettings& settings,
                         const std::string& what);

// Returns the peak of the GPU or, without one, of the process. 0: unknown.
int64_t LimitedPeakBytes(const Probe& probe);

}  // namespace gandem
