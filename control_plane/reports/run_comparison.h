// SPDX-License-Identifier: Apache-2.0
//
// Which of several runs makes better images, by their metric cards, and how
// sure that is.
//
// Runs whose recipes differ in nothing but the seed are one side. Sides of
// several seeds are compared by Student's t for unequal variances (B. L. Welch,
// "The Generalization of 'Student's' Problem", Biometrika 34, 1947). Sides of
// one run each are compared by the sd of their cards: that is about two
// checkpoints, not about two recipes.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/results/judged_curves.h"

namespace gandem {

struct ComparedRun {
  std::string run_dir = {};
  // Equal for recipes that differ in the seed at most.
  std::string recipe = {};
  uint64_t seed = 0;
  std::vector<JudgedCurve> curves = {};
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct ComparedSide {
  std::string name = {};               // its first run's folder
  std::vector<std::string> runs = {};  // of different seeds
  std::vector<int64_t> steps = {};     // that were judged, of each run
  std::vector<double> values = {};
  double mean = 0;
  std::optional<Interval> interval = {};  // 95 %
  std::string interval_of = {};           // "4 seeds", "the card's sd"
};

struct Verdict {
  std::string better = {};  // by the mean
  std::string other = {};
  double difference = 0;  // by which it is better
  std::optional<Interval> interval = {};
  bool is_sure = false;  // the interval does not hold 0, and may be trusted
  std::string text = {};
};

struct RunComparison {
  std::string metric = {};
  std::string about = {};
  bool lower_is_better = true;
  std::vector<ComparedSide> sides = {};  // best first
  std::vector<Verdict> verdicts = {};    // of the best and each other one
  std::vector<std::string> notes = {};
};

//   NOT_FOUND            a run has no card of that metric or step.
//   FAILED_PRECONDITION  no figure was computed in the same way for all runs.
//   INVALID_ARGUMENT     fewer than two runs.
// `metric` is the beginning of a name, empty: the first. `step` none: the
// newest that all were judged at.
absl::StatusOr<RunComparison> CompareRuns(std::span<const ComparedRun> runs,
                                          const std::string& metric,
                                          std::optional<int64_t> step);

// The 95 % interval of mean(a) - mean(b), or of mean(a) where b is empty. Each
// has at least two values.
Interval StudentInterval(std::span<const double> a, std::span<const double> b);

// Whether seeds of so many a side can be told apart at all: the chance that
// equal sides are separated entirely, 2 in n + m over n, is 5 % or less.
bool CanSeparate(size_t n, size_t m);

}  // namespace gandem
