// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/replan.h"

#include <algorithm>
#include <utility>

namespace gandem {
namespace {

constexpr int kMostEntries = 2;

}  // namespace

std::optional<ReplanJudge::Proposal> ReplanJudge::Best(
    double measured, const std::vector<ShapeSpeed>& predicted) const {
  // Where the model is too hopeful of the present shape it may be of others, so
  // these have to beat what it says, too.
  double now = measured;
  for (const ShapeSpeed& shape : predicted) {
    if (shape.shape == shape_) now = std::max(now, shape.speed);
  }
  std::optional<Proposal> best;
  for (const ShapeSpeed& other : predicted) {
    if (other.shape == shape_) continue;
    const auto known = measured_.find(other.shape);
    const bool was_measured = known != measured_.end();
    const auto entered = entered_.find(other.shape);
    const int entries = entered == entered_.end() ? 0 : entered->second;
    // Left before it was measured: the prediction had its chance.
    if (entries >= kMostEntries || (entries > 0 && !was_measured)) continue;
    const double gain =
        (was_measured ? known->second / measured : other.speed / now) - 1;
    if (gain < kLeastGain) continue;
    if (!best.has_value() || gain > best->gain) best = {other.shape, gain};
  }
  return best;
}

std::optional<ReplanJudge::Proposal> ReplanJudge::Check(
    double measured, const std::vector<ShapeSpeed>& predicted) {
  if (!(measured > 0)) return std::nullopt;
  measured_[shape_] = measured;
  std::optional<Proposal> best = Best(measured, predicted);
  if (!best.has_value()) {
    candidate_.clear();
    in_a_row_ = 0;
    return std::nullopt;
  }
  in_a_row_ = best->shape == candidate_ ? in_a_row_ + 1 : 1;
  candidate_ = best->shape;
  if (in_a_row_ < kChecksInARow) return std::nullopt;
  return best;
}

void ReplanJudge::Enter(const std::string& shape) {
  shape_ = shape;
  ++entered_[shape_];
  candidate_.clear();
  in_a_row_ = 0;
}

}  // namespace gandem
