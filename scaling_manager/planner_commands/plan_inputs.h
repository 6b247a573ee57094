// SPDX-License-Identifier: Apache-2.0
//
// What a plan takes from files beside the profile: what real images add to a
// worker's memory, and the gradient noise scales that a run has measured.
//
// Thread safety: any thread; reads files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/quality/quality.h"

namespace gandem {

// Probes are of random images, and some kinds of files are in memory as a whole
// (IDX, CIFAR, npz). What reads ahead of training is limited by
// data.memory_bytes and not counted.

// In each process that trains a discriminator. 0: images are read as they are
// needed, or they are not on this machine, which is no error: a plan may be
// made elsewhere.
int64_t HeldImageBytes(const DataConfig& data);

// To the probes of whoever trains on real images.
void AddHeldImages(int64_t bytes, Profile& profile);

// The gradient noise scales that a run has measured, which tell a plan what
// larger batches are worth (docs/trials.md). `run_dir` is the folder of a run
// of the recipe's networks, losses and kinds of optimizers, whatever its images
// and devices.
//   INVALID_ARGUMENT     it holds no run; with line and column.
//   FAILED_PRECONDITION  the run is of another model, or has not measured
//                        enough yet; says what to do.
//   errors of files      there is none.
absl::StatusOr<NoiseScales> ReadNoiseScales(const RunConfig& recipe,
                                            const std::string& run_dir);

}  // namespace gandem
