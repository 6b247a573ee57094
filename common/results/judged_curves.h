// SPDX-License-Identifier: Apache-2.0
//
// Image quality of a run over its rounds, from its metric cards. Each metric
// and evaluation setting has its own curve, so all points of a curve are
// comparable, also with the corresponding curve of another run.
//
// Owner: values. Thread safety: pure functions, except for reading files.
// Errors: those of common/files/file.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/evaluation.pb.h"

namespace gandem {

struct JudgedPoint {
  int64_t step = 0;  // rounds that the checkpoint had completed
  double value = 0;
  std::optional<double> sd = {};
  double unix_seconds = 0;  // time of the evaluation
  std::string card = {};    // file name
  std::string images_sha256 = {};
  std::vector<std::string> warnings = {};  // of the card
};

struct JudgedCurve {
  std::string metric = {};
  // Equal for comparable values: network, resize, reference, numbers of images,
  // and how the images were made, except for their seed.
  std::string setting = {};
  // One-line description of the setting.
  std::string about = {};
  bool lower_is_better = true;
  // By step, one per step (the newest card)
  std::vector<JudgedPoint> points = {};

  // Returns the first of the best points. The curve must have points.
  const JudgedPoint& Best() const;
};

struct JudgedCurves {
  // Frechet distances first, then by name, then by number of points.
  std::vector<JudgedCurve> curves = {};
  // Files that are not cards: "NAME: why".
  std::vector<std::string> unreadable = {};
};

// Returns false for inception scores and shares of images, true for distances.
bool LowerIsBetter(absl::string_view metric);

// Reads the cards in `folder`, a run's evaluation/; none if it is missing.
absl::StatusOr<JudgedCurves> ReadJudgedCurves(const std::string& folder);

}  // namespace gandem
