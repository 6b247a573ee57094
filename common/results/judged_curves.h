// SPDX-License-Identifier: Apache-2.0
//
// How good the images of a run were over its rounds, from its metric cards: one
// curve for each metric and each way of judging, so that the points of a curve
// may be compared, with each other and with those of the same curve of another
// run.
//
// Owner: values. Thread safety: pure functions, but for reading files.
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
  double unix_seconds = 0;  // when it was judged
  std::string card = {};    // file name
  std::string images_sha256 = {};
  std::vector<std::string> warnings = {};  // of the card
};

struct JudgedCurve {
  std::string metric = {};
  // Equal where figures may be compared: network, its resize, reference,
  // numbers of images, and how the images were made, their seed excepted.
  std::string setting = {};
  // The same for people, in a line.
  std::string about = {};
  bool lower_is_better = true;
  std::vector<JudgedPoint> points = {};  // by step; of one step the newest card

  // The first of the best. The curve has points.
  const JudgedPoint& Best() const;
};

struct JudgedCurves {
  // The Frechet distances come first, then by name; of one metric those with
  // the most points.
  std::vector<JudgedCurve> curves = {};
  // Files that are no cards: "NAME: why".
  std::vector<std::string> unreadable = {};
};

// Inception scores and shares of images grow as they get better, distances
// fall.
bool LowerIsBetter(absl::string_view metric);

// Reads the cards in `folder`, which is a run's evaluation/. A missing folder
// gives no curves.
absl::StatusOr<JudgedCurves> ReadJudgedCurves(const std::string& folder);

}  // namespace gandem
