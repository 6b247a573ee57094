// SPDX-License-Identifier: Apache-2.0
//
// `gandem sample`: a grid of images from a run's newest checkpoint and, when
// asked, their distance from the real ones (docs/sample_check.md). Image i
// comes from the noise stream (seed, kSample, 0, i), as in the grids that the
// run itself writes.
//
// Thread safety: one compute thread.
// Errors: a Status whose message says what to do; nothing escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evaluation/pixel_statistics.h"

namespace gandem {

struct SampleRequest {
  static constexpr int64_t kMaxImages = 10000;

  std::string run_dir;      // required
  int64_t num_images = 64;  // of the grid, 1 to kMaxImages
  std::string output = {};  // empty: run_dir/samples/sample-N.png
  std::optional<int64_t> checkpoint = {};  // step; none: the newest
  std::optional<uint64_t> seed = {};       // none: that of the run
  bool check = false;
};

struct SampleReport {
  std::string checkpoint;  // folder
  int64_t step = 0;
  std::vector<std::string> skipped;  // checkpoints: "path: why"
  std::string grid;                  // path of the PNG
  std::optional<SampleDistance> distance;
};

absl::StatusOr<SampleReport> RunSampleCommand(const SampleRequest& request);

}  // namespace gandem
