// SPDX-License-Identifier: Apache-2.0
//
// `gandem sample`: images from a run's newest checkpoint as a grid, as a grid
// of interpolations, or one by one (export_images.h); and, when asked, their
// distance from the real ones (docs/reference/sample_check.md). Image i comes
// from the noise stream (seed, kSample, 0, i), as in the grids that the run
// itself writes.
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
  // A PNG file for a grid, else what IsExportPath says. Empty:
  // run_dir/samples/sample-N.png.
  std::string output = {};
  // Above 0: a grid of num_images rows, each the way from one sample to another
  // in so many steps.
  int64_t interpolate = 0;
  // Above 0: a grid of one row for each class with so many images, the same
  // noise in all rows; num_images is not used.
  int64_t per_class = 0;
  std::optional<int64_t> only_class = {};  // none: labels are drawn
  NoiseOptions noise = {};
  StandingOptions standing = {};
  std::optional<int64_t> checkpoint = {};  // step; none: the newest
  std::optional<uint64_t> seed = {};       // none: that of the run
  // Of a grid; exported images are the average's.
  GeneratorWeights weights = GeneratorWeights::kAverage;
  bool check = false;
};

struct SampleReport {
  std::string checkpoint;  // folder
  int64_t step = 0;
  std::vector<std::string> skipped;  // checkpoints: "path: why"
  std::string output;                // path of what was written
  int64_t num_images = 0;            // in it
  std::optional<SampleDistance> distance;
};

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request);

}  // namespace gandem
