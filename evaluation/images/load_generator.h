// SPDX-License-Identifier: Apache-2.0
//
// The generator of a run's checkpoint, the averaged one unless it says
// otherwise, ready to make images; and what they are made for or of: the labels
// of a run with classes, the inputs of one that translates images.
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
  RunPlan plan;            // of the run, from the checkpoint
  std::string checkpoint;  // folder
  // Its files that have the generator's state.
  std::vector<std::string> files;
  int64_t step = 0;  // rounds completed
  // Newer checkpoints that are not complete: "path: why". Tell the user.
  std::vector<std::string> skipped;
  std::shared_ptr<Generator> network;
  Compute compute;  // where `network` is
  // What it translates; null: it makes images of noise.
  std::shared_ptr<const PairReader> pairs;
  // Of samples, addressed by kSample; UseConditions sets it.
  ConditionSource conditions = NoCondition;
  // "const" or "random", by UseNoiseInputs; empty: it has no noise inputs.
  std::string noise_inputs = {};
};

// From the folder of a complete checkpoint, for `device` ("cpu", "cuda:N").
//   NOT_FOUND         there is no such folder.
//   DATA_LOSS         files are damaged; says which.
//   INVALID_ARGUMENT  the files do not fit this version's networks, or there is
//                     no such device.
//   those of OpenPairReader for a network that translates images.
absl::StatusOr<LoadedGenerator> LoadCheckpoint(
    const std::string& folder, const std::string& device = "cpu");

// The folder of the newest complete checkpoint of a run, or that of `step`.
//   NOT_FOUND  `run_dir` is no run, or has no (such) checkpoint.
//   DATA_LOSS  files are damaged; says which.
absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir,
                                               std::optional<int64_t> step);

// From the newest complete checkpoint, or from that of `step`.
//   INVALID_ARGUMENT  the files do not fit this version's networks.
//   and those of FindCheckpoint.
absl::StatusOr<LoadedGenerator> LoadGenerator(
    const std::string& run_dir, std::optional<int64_t> step,
    GeneratorWeights weights = GeneratorWeights::kAverage);

// Of a run with `num_classes`; 0: its generator is not told any.
//   INVALID_ARGUMENT  it has no such class; says which it has.
absl::Status CheckClass(int64_t num_classes, std::optional<int64_t> only_class);

// Sets what samples are conditioned on: `only_class`, or draws as in the grids
// that a run writes, image i from the stream (seed, kSampleLabels, 0, i); input
// i of the dataset; nothing for a run with neither.
//   INVALID_ARGUMENT  the run has no such class.
absl::Status UseConditions(uint64_t seed, std::optional<int64_t> only_class,
                           LoadedGenerator& generator);

// Its images are made of styles that go only this part of the way from their
// mean; 1: changes nothing.
//   INVALID_ARGUMENT  it is not 1, and the generator has no mean style.
absl::Status UseTruncation(double psi, LoadedGenerator& generator);

// Its layers with noise inputs (StyleGAN2) add the same constant noise to all
// images, or, if `random`, what is drawn for image i by (seed, layer, i). After
// UseConditions and UseStandingStatistics, whose draws it would change.
//   INVALID_ARGUMENT  `random`, and the generator has no noise inputs.
absl::Status UseNoiseInputs(bool random, uint64_t seed,
                            LoadedGenerator& generator);

}  // namespace gandem
