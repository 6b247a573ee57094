// SPDX-License-Identifier: Apache-2.0
//
// Standing statistics (Brock et al. 2019, appendix C.1): running statistics of
// batch norm, gathered anew with the final weights instead of averaged during
// training. As in StudioGAN, `steps` training passes follow a reset, with
// batches of random size, random labels and untruncated noise; the momentum
// stays (models.md 6.3). In a user's network in Python, which may have any
// momentum, all batches have the same weight.
//
// Thread safety: one compute thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/faults.h"
#include "evaluation/images/load_generator.h"

namespace gandem {

struct StandingOptions {
  int64_t steps = 0;  // 0: keep the averages of training
  // Batch sizes are uniform in [1, max_batch], for networks in Python in [2,
  // max_batch].
  int64_t max_batch = 64;
};

void CheckStanding(const StandingOptions& options, Faults& faults);

// Does nothing if options.steps is 0. All draws of step s come from the streams
// (seed, kStandingStatistics, s, .): index 0 the size, index 1 + i noise and
// label of image i. Images to translate come in the order of their file, for
// step s from number s * max_batch on.
//   INVALID_ARGUMENT  the generator has no batch norm (in Python: no torch.nn
//                     batch norm); max_batch is 1 for a network in Python.
//   and Torch exceptions.
absl::Status UseStandingStatistics(const StandingOptions& options,
                                   uint64_t seed, LoadedGenerator& generator);

}  // namespace gandem
