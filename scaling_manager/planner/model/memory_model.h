// SPDX-License-Identifier: Apache-2.0
//
// Predicts the peak memory of a worker, or of its GPU, as a line in the images
// of a pass, fitted to the peaks of the probes, plus the memory that a plan
// needs beyond a probe (docs/cost_model.md section 7).
// Owner: values. Thread safety: pure functions.
// Errors: NOT_FOUND  no probe of the role has a peak; names the remedy.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

// bytes = max(least, fixed + per_image * images); each image beyond
// `most_images` adds at least `beyond_per_image`.
struct MemoryLine {
  double fixed_bytes = 0;
  double bytes_per_image = 0;
  double least_bytes = 0;
  double most_images = 0;
  double beyond_per_image = 0;

  double At(double images) const;
};

// Fits a line by least squares to the probes of a role with these settings and
// any number of threads, corrected for the memory of each thread. If only one
// size was measured, shifts the line of another mode with the same kernels or,
// without such a mode, uses the line through the resting memory. Fewer images
// than measured take as much memory, because a first pass loads memory that
// does not depend on its images. Beyond the measured images, memory grows at
// least as fast as in a mode that measured more.
absl::StatusOr<MemoryLine> FitMemory(const Profile& profile,
                                     const RoleSettings& settings);

// Returns a worker's memory beyond a probe: images, critics and buffers.
int64_t PlannedBytes(const RunShape& shape, Role role);

// Returns the peak of the largest worker of the role.
absl::StatusOr<int64_t> PeakBytes(const Profile& profile, const RunShape& shape,
                                  Role role);
// Returns the peak of a colocated worker: the sum of both roles, with the
// program counted once. If both roles use the kernels of the colocated probes,
// corrects the sum by the measured difference.
absl::StatusOr<int64_t> ColocatedPeakBytes(const Profile& profile,
                                           const RunShape& shape);

}  // namespace gandem
