// SPDX-License-Identifier: Apache-2.0
//
// Inputs of a plan besides the profile: the memory that real images add to a
// worker, and the gradient noise scales that a run has measured.
// Thread safety: any thread; reads files.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/quality/quality.h"

namespace gandem {

// Returns the bytes that the recipe's real images add to each process that
// trains a discriminator. Profiles are measured with random images, but some
// formats (IDX, CIFAR, npz) are held in memory as a whole. The read-ahead
// buffer has its own limit, data.memory_bytes, and is not counted. Returns 0 if
// images are read as needed, or are not on this machine.
int64_t HeldImageBytes(const DataConfig& data);

// Adds `bytes` to the memory of the probes that train on real images.
void AddHeldImages(int64_t bytes, Profile& profile);

// Reads the gradient noise scales that a run has measured, which predict the
// benefit of larger batches (docs/trials.md). `run_dir` is a run with the
// recipe's networks, losses and kinds of optimizers; images and devices may
// differ. Returns errors of reading files, and
//   INVALID_ARGUMENT  the folder holds no valid run; names line and column
//   FAILED_PRECONDITION  the run is of another model, or has measured too
//       little; names the remedy
absl::StatusOr<NoiseScales> ReadNoiseScales(const RunConfig& recipe,
                                            const std::string& run_dir);

}  // namespace gandem
