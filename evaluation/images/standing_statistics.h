// SPDX-License-Identifier: Apache-2.0
//
// Standing statistics (Brock et al. 2019, appendix C.1): batch norm's running
// statistics gathered afresh from a generator as it is, instead of the averages
// of its training. As StudioGAN does it: after a reset, `steps` training passes
// of batches of random size with random labels and noise that is not truncated;
// the momentum stays (models.md 6.3). In networks of users in Python, whose
// momentum may be anything, every batch has the same weight.
//
// Thread safety: one compute thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/faults.h"
#include "evaluation/images/load_generator.h"

namespace gandem {

struct StandingOptions {
  int64_t steps = 0;  // 0: the averages of the training
  // Sizes are uniform in [1, max_batch]; of networks in Python in
  // [2, max_batch].
  int64_t max_batch = 64;
};

void CheckStanding(const StandingOptions& options, Faults& faults);

// Nothing if options.steps is 0. All draws of step s come from the streams
// (seed, kStandingStatistics, s, .): index 0 the size, index 1 + i noise and
// label of image i. Images that are translated come in the order of their file,
// those of step s from number s * max_batch on.
//   INVALID_ARGUMENT  the generator has no batch norm of ours, or one in Python
//                     no torch.nn batch norm; max_batch 1 of one in Python.
//   and Torch exceptions.
absl::Status UseStandingStatistics(const StandingOptions& options,
                                   uint64_t seed, LoadedGenerator& generator);

}  // namespace gandem
