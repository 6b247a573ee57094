// SPDX-License-Identifier: Apache-2.0
//
// Compares the image quality of several runs by their metric cards.
//
// Runs whose recipes differ only in the seed form one side. Sides of several
// seeds are compared by Student's t for unequal variances (B. L. Welch, "The
// Generalization of 'Student's' Problem", Biometrika 34, 1947). Sides of one
// run each are compared by the standard deviation of their cards, which
// compares two checkpoints, not two recipes.
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
  // Equal texts mean recipes that differ only in the seed.
  std::string recipe = {};
  uint64_t seed = 0;
  std::vector<JudgedCurve> curves = {};
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct ComparedSide {
  std::string name = {};               // folder of the first run
  std::vector<std::string> runs = {};  // folders of the runs
  std::vector<int64_t> steps = {};     // evaluated step of each run
  std::vector<double> values = {};
  double mean = 0;
  std::optional<Interval> interval = {};  // 95 %
  std::string interval_of = {};           // "4 seeds", "the card's sd"
};

struct Verdict {
  std::string better = {};  // side with the better mean
  std::string other = {};
  double difference = 0;  // positive: `better` has the better mean
  std::optional<Interval> interval = {};
  bool is_sure = false;  // the interval excludes 0 and can be trusted
  std::string text = {};
};

struct RunComparison {
  std::string metric = {};
  std::string about = {};
  bool lower_is_better = true;
  std::vector<ComparedSide> sides = {};  // best first
  std::vector<Verdict> verdicts = {};    // the best against each other side
  std::vector<std::string> notes = {};
};

// Compares the runs. `metric`: prefix of a metric's name; empty selects the
// first metric. `step`: unset selects the newest step at which all runs were
// evaluated.
//   NOT_FOUND  a run has no card of the metric or step
//   FAILED_PRECONDITION  no metric was computed in the same way for all runs
//   INVALID_ARGUMENT  fewer than two runs
absl::StatusOr<RunComparison> CompareRuns(std::span<const ComparedRun> runs,
                                          const std::string& metric,
                                          std::optional<int64_t> step);

// Returns the 95 % confidence interval of mean(a) - mean(b), or of mean(a) if
// `b` is empty. A span that is not empty must have at least two values.
Interval StudentInterval(std::span<const double> a, std::span<const double> b);

// Returns whether n and m seeds can separate two sides: the probability that
// two equal sides are separated entirely, 2 / ((n + m) over n), is at most 5 %.
bool CanSeparate(size_t n, size_t m);

}  // namespace gandem
