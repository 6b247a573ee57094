// SPDX-License-Identifier: Apache-2.0
//
// Loads the generator of a run's checkpoint (by default the averaged one) and
// sets the conditions of its images: labels, or images to translate.
//
// Owner: the caller. Thread safety: one compute thread.
// Errors: Status; Torch exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_files.h"
#include "models/network.h"
#include "training/compute/tensor_bytes.h"
#include "training/inputs/pairs.h"
#include "training/plan/run_plan.h"

namespace gandem {

enum class GeneratorWeights {
  kAverage,
  kRaw,  // as the last step left them
};

struct LoadedGenerator {
  RunPlan plan;            // from the checkpoint
  std::string checkpoint;  // its folder
  // Files of the checkpoint that hold the generator's state.
  std::vector<std::string> files;
  int64_t step = 0;  // rounds completed
  // Newer, incomplete checkpoints as "path: why", for the user.
  std::vector<std::string> skipped;
  std::shared_ptr<Generator> network;
  Compute compute;  // of `network`
  // Inputs to translate; null if the generator takes noise.
  std::shared_ptr<const PairReader> pairs;
  // Conditions of samples, addressed by kSample; UseConditions sets it.
  ConditionSource conditions = NoCondition;
  // "const" or "random"; empty if the generator has no noise inputs.
  std::string noise_inputs = {};
};

// Loads the folder of a complete checkpoint to `device` ("cpu", "cuda:N").
//   NOT_FOUND         there is no such folder.
//   DATA_LOSS         files are damaged; says which.
//   INVALID_ARGUMENT  the files do not fit this version's networks, or there is
//                     no such device.
//   those of OpenPairReader for a network that translates images.
absl::StatusOr<LoadedGenerator> LoadCheckpoint(
    const std::string& folder, const std::string& device = "cpu");

// Finds the newest complete checkpoint of a run, or that of `step`.
//   NOT_FOUND  `run_dir` is no run, or has no (such) checkpoint.
//   DATA_LOSS  files are damaged; says which.
absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir,
                                               std::optional<int64_t> step);

// Loads the newest complete checkpoint, or that of `step`.
//   INVALID_ARGUMENT  the files do not fit this version's networks.
//   and those of FindCheckpoint.
absl::StatusOr<LoadedGenerator> LoadGenerator(
    const std::string& run_dir, std::optional<int64_t> step,
    GeneratorWeights weights = GeneratorWeights::kAverage);

// Checks the class for a run with `num_classes` (0: without labels).
//   INVALID_ARGUMENT  the run has no such class; says which it has.
absl::Status CheckClass(int64_t num_classes, std::optional<int64_t> only_class);

// Sets the conditions of samples: `only_class`; or else labels as in the grids
// of a run, for image i from the stream (seed, kSampleLabels, 0, i); or input i
// of the dataset; nothing for a run with neither.
//   INVALID_ARGUMENT  the run has no such class.
absl::Status UseConditions(uint64_t seed, std::optional<int64_t> only_class,
                           LoadedGenerator& generator);

// Moves styles towards their mean: mean + psi (style - mean). 1 changes
// nothing.
//   INVALID_ARGUMENT  `psi` is not 1, and the generator has no mean style.
absl::Status UseTruncation(double psi, LoadedGenerator& generator);

// Makes layers with noise inputs (StyleGAN2) add the same constant noise to all
// images or, if `random`, noise drawn for image i by (seed, layer, i). Call it
// after UseConditions and UseStandingStatistics, whose draws it would change.
//   INVALID_ARGUMENT  `random`, and the generator has no noise inputs.
absl::Status UseNoiseInputs(bool random, uint64_t seed,
                            LoadedGenerator& generator);

}  // namespace gandem
