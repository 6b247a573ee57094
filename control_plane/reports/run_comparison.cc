// SPDX-License-Identifier: Apache-2.0
#include "control_plane/reports/run_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr double kNormal = 1.959964;  // 97.5 % of a normal distribution

double MeanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

// Returns the 97.5 % quantile of Student's t-distribution.
double StudentOf(size_t freedom) {
  constexpr std::array<double, 10> kTable = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  // The first terms of the Cornish-Fisher expansion are precise to 0.003 here.
  const double z = kNormal;
  const auto n = static_cast<double>(freedom);
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

double VarianceOfMean(std::span<const double> values) {
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return squares / (n - 1) / n;
}

// Returns a curve of each run, all of one setting, or {} if there is none.
std::vector<const JudgedCurve*> CommonCurves(std::span<const ComparedRun> runs,
                                             const std::string& metric) {
  for (const JudgedCurve& first : runs.front().curves) {
    if (!absl::StartsWithIgnoreCase(first.metric, metric)) continue;
    std::vector<const JudgedCurve*> found;
    for (const ComparedRun& run : runs) {
      const auto curve =
          std::ranges::find(run.curves, first.setting, &JudgedCurve::setting);
      if (curve != run.curves.end()) found.push_back(&*curve);
    }
    if (found.size() == runs.size()) return found;
  }
  return {};
}

absl::Status WhyNothingInCommon(std::span<const ComparedRun> runs,
                                const std::string& metric) {
  std::vector<std::string> lines;
  for (const ComparedRun& run : runs) {
    std::vector<std::string> figures;
    for (const JudgedCurve& curve : run.curves) {
      if (!absl::StartsWithIgnoreCase(curve.metric, metric)) continue;
      figures.push_back(absl::StrCat(curve.metric, " (", curve.about, ")"));
    }
    if (figures.empty()) {
      return absl::NotFoundError(
          absl::StrCat("'", run.run_dir, "' has no metric card",
                       metric.empty() ? "" : absl::StrCat(" of '", metric, "'"),
                       "; `gandem evaluate ", run.run_dir,
                       "` judges its newest checkpoint"));
    }
    lines.push_back(
        absl::StrCat("  ", run.run_dir, ": ", absl::StrJoin(figures, "; ")));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no figure of these runs was computed in the same way for all of them, "
      "with one network, reference and number of images:\n",
      absl::StrJoin(lines, "\n"),
      "\n`gandem evaluate` with the same options judges each of them so"));
}

std::optional<int64_t> NewestCommonStep(
    std::span<const JudgedCurve* const> curves) {
  std::map<int64_t, size_t> counts;
  for (const JudgedCurve* const curve : curves) {
    for (const JudgedPoint& point : curve->points) ++counts[point.step];
  }
  for (auto it = counts.rbegin(); it != counts.rend(); ++it) {
    if (it->second == curves.size()) return it->first;
  }
  return std::nullopt;
}

struct PointOfRun {
  const ComparedRun* run;
  JudgedPoint point;
};

// Returns the points of the runs at `step`, or their newest points.
absl::StatusOr<std::vector<PointOfRun>> PointsAt(
    std::span<const ComparedRun> runs,
    std::span<const JudgedCurve* const> curves, std::optional<int64_t> step) {
  std::vector<PointOfRun> points;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<JudgedPoint>& all = curves[i]->points;
    const auto found = step.has_value()
                           ? std::ranges::find(all, *step, &JudgedPoint::step)
                           : std::prev(all.end());
    if (found == all.end()) {
      return absl::NotFoundError(absl::StrCat(
          "'", runs[i].run_dir, "' was not judged at step ", *step,
          " in this way (", curves[i]->about, "); `gandem evaluate ",
          runs[i].run_dir, " --checkpoint ", *step, "` does, if it is there"));
    }
    points.push_back({.run = &runs[i], .point = *found});
  }
  return points;
}

// Groups the points by recipe, without runs of an earlier recipe and seed.
std::vector<std::vector<PointOfRun>> SidesOf(
    const std::vector<PointOfRun>& points, std::vector<std::string>& notes) {
  std::vector<std::vector<PointOfRun>> sides;
  std::map<std::string, size_t> side_of;
  std::set<std::pair<std::string, uint64_t>> seen;
  for (const PointOfRun& point : points) {
    if (!seen.emplace(point.run->recipe, point.run->seed).second) {
      notes.push_back(
          absl::StrCat(point.run->run_dir,
                       " has the recipe and the seed of a run before "
                       "it and is not counted again"));
      continue;
    }
    const auto [side, is_new] =
        side_of.emplace(point.run->recipe, sides.size());
    if (is_new) sides.emplace_back();
    sides[side->second].push_back(point);
  }
  return sides;
}

// Adds notes for warnings of cards, and for images evaluated twice.
void NoteDoubts(const std::vector<PointOfRun>& points,
                std::vector<std::string>& notes) {
  std::map<std::string, std::string> first;  // run, by images
  for (const PointOfRun& point : points) {
    const std::string& run_dir = point.run->run_dir;
    for (const std::string& warning : point.point.warnings) {
      notes.push_back(absl::StrCat(run_dir, ": ", warning));
    }
    if (point.point.images_sha256.empty()) continue;
    const auto [same, is_new] =
        first.emplace(point.point.images_sha256, run_dir);
    if (is_new) continue;
    notes.push_back(absl::StrCat(run_dir, " and ", same->second,
                                 " made the same images: they are not two "
                                 "results"));
  }
}

ComparedSide SideOf(const std::vector<PointOfRun>& points) {
  ComparedSide side = {.name = points.front().run->run_dir};
  for (const PointOfRun& point : points) {
    side.runs.push_back(point.run->run_dir);
    side.steps.push_back(point.point.step);
    side.values.push_back(point.point.value);
  }
  side.mean = MeanOf(side.values);
  if (points.size() > 1) {
    absl::StrAppend(&side.name, " and ", points.size() - 1,
                    points.size() == 2 ? " other seed" : " other seeds");
    side.interval = StudentInterval(side.values, {});
    side.interval_of = absl::StrCat(points.size(), " seeds");
  } else if (points.front().point.sd.has_value()) {
    const double reach = kNormal * *points.front().point.sd;
    side.interval = {side.mean - reach, side.mean + reach};
    side.interval_of = "the card's sd";
  }
  return side;
}

// Returns the interval of the difference, from both cards' intervals.
std::optional<Interval> IntervalOfCards(const ComparedSide& a,
                                        const ComparedSide& b) {
  if (!a.interval.has_value() || !b.interval.has_value()) return std::nullopt;
  const double reach =
      std::hypot(a.interval->high - a.mean, b.interval->high - b.mean);
  return Interval{a.mean - b.mean - reach, a.mean - b.mean + reach};
}

std::string IntervalText(const Interval& interval) {
  return absl::StrFormat("%.3g to %.3g", interval.low, interval.high);
}

// Writes the verdict that follows from the interval. `by`: source of the
// interval. `more`: data that would narrow it.
void JudgeInterval(const RunComparison& comparison, const std::string& yes,
                   const std::string& by, const std::string& more,
                   Verdict& verdict) {
  verdict.is_sure = verdict.interval->low > 0;
  const std::string numbers = absl::StrFormat(
      "%s is %s by %.3g (95 %% interval %s, %s).", comparison.metric,
      comparison.lower_is_better ? "lower" : "higher", verdict.difference,
      IntervalText(*verdict.interval), by);
  const std::string claim =
      absl::StrCat(verdict.better, " is better than ", verdict.other);
  verdict.text = verdict.is_sure
                     ? absl::StrCat(yes, ": ", claim, ". ", numbers)
                     : absl::StrCat("Cannot say whether ", claim, ": ", numbers,
                                    " More ", more, " narrow it.");
}

// Writes the verdict on two sides of one run each.
void JudgeCheckpoints(const RunComparison& comparison, Verdict& verdict) {
  if (!verdict.interval.has_value()) {
    verdict.text = absl::StrCat(
        "Cannot say: the cards of ", verdict.better, " and ", verdict.other,
        " have no standard deviation (--halvings of gandem evaluate).");
    return;
  }
  JudgeInterval(comparison, "Yes for these two runs", "by the cards' sd",
                "images (--num)", verdict);
  absl::StrAppend(&verdict.text,
                  " How their recipes compare takes several seeds each, at "
                  "least 4 (`gandem train ... --set seed=N`).");
}

void JudgeSeeds(const RunComparison& comparison, const ComparedSide& better,
                const ComparedSide& other, Verdict& verdict) {
  const std::string seeds = absl::StrCat(better.values.size(), " and ",
                                         other.values.size(), " seeds");
  if (CanSeparate(better.values.size(), other.values.size())) {
    JudgeInterval(comparison, "Yes", seeds, "seeds", verdict);
    return;
  }
  verdict.text = absl::StrFormat(
      "Cannot say whether %s is better than %s: %s is %s by %.3g, but %s are "
      "too few for 95 %%, whatever they say; 4 each are enough.",
      verdict.better, verdict.other, comparison.metric,
      comparison.lower_is_better ? "lower" : "higher", verdict.difference,
      seeds);
}

Verdict VerdictOf(const RunComparison& comparison, const ComparedSide& better,
                  const ComparedSide& other, bool has_one_step) {
  Verdict verdict = {.better = better.name, .other = other.name};
  const double sign = comparison.lower_is_better ? -1 : 1;
  verdict.difference = sign * (better.mean - other.mean);
  const bool are_single = better.values.size() == 1 && other.values.size() == 1;
  if (are_single) {
    verdict.interval = IntervalOfCards(better, other);
  } else if (better.values.size() > 1 && other.values.size() > 1) {
    verdict.interval = StudentInterval(better.values, other.values);
  }
  if (verdict.interval.has_value() && sign < 0) {
    verdict.interval =
        Interval{-verdict.interval->high, -verdict.interval->low};
  }
  if (!has_one_step) {
    verdict.text = absl::StrCat(
        "Cannot say whether ", verdict.better, " is better than ",
        verdict.other,
        ": no step of all runs was judged. `gandem evaluate RUN --checkpoint "
        "STEP` judges one.");
  } else if (are_single) {
    JudgeCheckpoints(comparison, verdict);
  } else {
    JudgeSeeds(comparison, better, other, verdict);
  }
  return verdict;
}

}  // namespace

bool CanSeparate(size_t n, size_t m) {
  // The spread of a single value is unknown.
  if (n < 2 || m < 2) return false;
  // Binomial coefficient (n + m) over n.
  double ways = 1;
  for (size_t i = 1; i <= n; ++i) {
    ways *= static_cast<double>(m + i) / static_cast<double>(i);
  }
  return 2 / ways <= 0.05;
}

Interval StudentInterval(std::span<const double> a, std::span<const double> b) {
  const double mean = MeanOf(a) - (b.empty() ? 0 : MeanOf(b));
  const double va = VarianceOfMean(a);
  const double vb = b.empty() ? 0 : VarianceOfMean(b);
  if (va + vb == 0) return {mean, mean};
  const double parts =
      va * va / static_cast<double>(a.size() - 1) +
      (b.empty() ? 0 : vb * vb / static_cast<double>(b.size() - 1));
  // Rounding down makes the interval too wide rather than too narrow.
  const auto freedom = static_cast<size_t>((va + vb) * (va + vb) / parts);
  const double reach =
      StudentOf(std::max<size_t>(1, freedom)) * std::sqrt(va + vb);
  return {mean - reach, mean + reach};
}

absl::StatusOr<RunComparison> CompareRuns(std::span<const ComparedRun> runs,
                                          const std::string& metric,
                                          std::optional<int64_t> step) {
  if (runs.size() < 2) {
    return absl::InvalidArgumentError(
        "one run alone is compared with nothing; name two or more");
  }
  const std::vector<const JudgedCurve*> curves = CommonCurves(runs, metric);
  if (curves.empty()) return WhyNothingInCommon(runs, metric);
  RunComparison comparison = {
      .metric = curves.front()->metric,
      .about = curves.front()->about,
      .lower_is_better = curves.front()->lower_is_better};
  if (!step.has_value()) step = NewestCommonStep(curves);
  GANDEM_ASSIGN_OR_RETURN(const std::vector<PointOfRun> points,
                          PointsAt(runs, curves, step));
  NoteDoubts(points, comparison.notes);
  for (const auto& side : SidesOf(points, comparison.notes)) {
    comparison.sides.push_back(SideOf(side));
  }
  std::ranges::stable_sort(
      comparison.sides, [&](const ComparedSide& a, const ComparedSide& b) {
        return comparison.lower_is_better ? a.mean < b.mean : a.mean > b.mean;
      });
  for (size_t i = 1; i < comparison.sides.size(); ++i) {
    comparison.verdicts.push_back(VerdictOf(comparison, comparison.sides[0],
                                            comparison.sides[i],
                                            step.has_value()));
  }
  return comparison;
}

}  // namespace gandem
