// SPDX-License-Identifier: Apache-2.0
//
// `gandem sample`: writes images of a run's checkpoint as a grid, as a grid of
// interpolations, or one by one (export_images.h). With `check` it also
// computes their distance from the real images
// (docs/reference/sample_check.md). Image i is made from the noise stream
// (seed, kSample, 0, i), as in the grids that the run itself writes.
//
// Thread safety: one compute thread.
// Errors: a Status whose message says what to do; nothing escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/images/load_generator.h"
#include "evaluation/images/pixel_statistics.h"
#include "evaluation/images/sample_noise.h"
#include "evaluation/images/standing_statistics.h"

namespace gandem {

struct SampleRequest {
  static constexpr int64_t kMaxImages = 10000;  // of a grid
  static constexpr int64_t kMaxExported = 10'000'000;
  static constexpr int64_t kMaxSteps = 1000;

  std::string run_dir;      // required
  int64_t num_images = 64;  // 1 to kMaxImages, exported 1 to kMaxExported
  // A PNG file for a grid, or a path that IsExportPath accepts. Empty:
  // run_dir/samples/sample-N.png.
  std::string output = {};
  // Steps from the first to the last image of a row, in a grid of num_images
  // rows. 0: no interpolation.
  int64_t interpolate = 0;
  // Images per class, in a grid of one row per class with the same noise in all
  // rows; num_images is not used. 0: no such grid.
  int64_t per_class = 0;
  std::optional<int64_t> only_class = {};  // unset: labels are drawn
  NoiseOptions noise = {};
  StandingOptions standing = {};
  std::optional<int64_t> checkpoint = {};  // step; unset: the newest
  std::optional<uint64_t> seed = {};       // unset: the seed of the run
  // Weights that make a grid. Single images always use the average.
  GeneratorWeights weights = GeneratorWeights::kAverage;
  bool check = false;
};

struct SampleReport {
  std::string checkpoint;  // folder
  int64_t step = 0;
  std::vector<std::string> skipped;  // skipped checkpoints: "path: why"
  std::string output;                // path that was written
  int64_t num_images = 0;            // images in `output`
  std::optional<SampleDistance> distance;
};

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request);

}  // namespace gandem
