// SPDX-License-Identifier: Apache-2.0
//
// `gandem sample`: writes generated images of a checkpoint as a grid, as a grid
// of interpolations, or as single images (export_images.h). With `check`, also
// computes the distance to the real images (docs/reference/sample_check.md).
// Image i uses the noise stream (seed, kSample, 0, i), as do the run's grids.
//
// Thread safety: one compute thread.
// Errors: a Status with advice. No exceptions.
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
  static constexpr int64_t kMaxImages = 10000;  // in a grid
  static constexpr int64_t kMaxExported = 10'000'000;
  static constexpr int64_t kMaxSteps = 1000;

  std::string run_dir;      // required
  int64_t num_images = 64;  // 1 to kMaxImages; single: 1 to kMaxExported
  // A PNG file for a grid, or a path for single images (IsExportPath). Empty:
  // run_dir/samples/sample-STEP.png.
  std::string output = {};
  // Images per row of a grid of num_images interpolations. 0: no interpolation.
  int64_t interpolate = 0;
  // Images per class in a grid with one row per class and equal noise in all
  // rows; ignores num_images. 0: no such grid.
  int64_t per_class = 0;
  std::optional<int64_t> only_class = {};  // unset: labels are drawn
  NoiseOptions noise = {};
  StandingOptions standing = {};
  std::optional<int64_t> checkpoint = {};  // step; unset: the newest
  std::optional<uint64_t> seed = {};       // unset: the seed of the run
  // Weights for a grid. Single images always use the average.
  GeneratorWeights weights = GeneratorWeights::kAverage;
  bool check = false;
};

struct SampleReport {
  std::string checkpoint;  // folder
  int64_t step = 0;
  std::vector<std::string> skipped;  // skipped checkpoints: "path: reason"
  std::string output;                // path of the grid or the images
  int64_t num_images = 0;            // images in `output`
  std::optional<SampleDistance> distance;
};

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request);

}  // namespace gandem
