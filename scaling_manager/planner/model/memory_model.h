// SPDX-License-Identifier: Apache-2.0
//
// The peak of a worker's memory, or of its GPU's where it has one: a line in
// the images that it has in a pass, fitted to the peaks of the probes, and what
// this plan adds to what a probe had (docs/cost_model.md section 7).
//
// Owner: values. Thread safety: pure functions.
// Errors: NOT_FOUND  no probe of the role has a peak; says what to do.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

// bytes = max(least, fixed + per_image * images); beyond `most_images` at least
// `beyond_per_image` more for each.
struct MemoryLine {
  double fixed_bytes = 0;
  double bytes_per_image = 0;
  double least_bytes = 0;
  double most_images = 0;
  double beyond_per_image = 0;

  double At(double images) const;
};

// Least squares over the probes of a role with these settings and any number of
// threads, of which each may take more. With one size only it is the line of
// another mode with the same kernels, shifted to that size; through its resting
// memory where none has more. Fewer images than were measured are not promised
// to take less: what a first pass loads and keeps does not depend on its
// images. Nor are more promised to grow slower than in a mode of which more
// were measured.
absl::StatusOr<MemoryLine> FitMemory(const Profile& profile,
                                     const RoleSettings& settings);

// What a worker holds beyond a probe: images that wait, critics, messages,
// buckets.
int64_t PlannedBytes(const RunShape& shape, Role role);

// Of the largest worker of the role.
absl::StatusOr<int64_t> PeakBytes(const Profile& profile, const RunShape& shape,
                                  Role role);
// Of a worker with both: the sum of both with what the program is without
// networks counted once, and what probes of such workers had more or less than
// it where both roles compute as they did.
absl::StatusOr<int64_t> ColocatedPeakBytes(const Profile& profile,
                                           const RunShape& shape);

}  // namespace gandem
