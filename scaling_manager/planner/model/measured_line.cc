// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/measured_line.h"

#include <algorithm>
#include <iterator>

namespace gandem {

void MeasuredLine::Add(int64_t images, double seconds) {
  Sum& sum = points_[images];
  sum.seconds += seconds;
  ++sum.count;
}

double MeasuredLine::At(int64_t images) const {
  if (points_.empty()) return 0;
  if (!grows_) return Mean();
  const auto at = points_.find(images);
  if (at != points_.end()) return at->second.mean();
  if (points_.size() == 1) return PartOf(*points_.begin(), images);
  // The segment that contains `images`, or the nearest one.
  auto high = points_.upper_bound(images);
  if (high == points_.begin()) ++high;
  if (high == points_.end()) --high;
  const auto low = std::prev(high);
  const double slope = (high->second.mean() - low->second.mean()) /
                       static_cast<double>(high->first - low->first);
  const double line =
      low->second.mean() + slope * static_cast<double>(images - low->first);
  // Noise may tilt the segments at the ends: clamp the time of fewer images
  // between the proportional time and the nearest point.
  if (images < low->first) {
    return std::clamp(line, PartOf(*low, images), low->second.mean());
  }
  return images > high->first ? std::max(line, high->second.mean()) : line;
}

void MeasuredLine::TakeShapeOf(const MeasuredLine& other) {
  if (!grows_ || points_.size() != 1 || other.points_.size() < 2) return;
  const auto own = *points_.begin();
  const double seconds = own.second.mean();
  const double there = other.At(own.first);
  if (!(there > 0)) return;
  for (const auto& [images, point] : other.points_) {
    if (images == own.first) continue;
    const double scaled = point.mean() * seconds / there;
    // Clamp as in At(), because the other line may be noisy.
    Add(images, images < own.first
                    ? std::clamp(scaled, PartOf(own, images), seconds)
                    : std::max(scaled, seconds));
  }
}

double MeasuredLine::PartOf(const Points::value_type& point, int64_t images) {
  return point.second.mean() * static_cast<double>(images) /
         static_cast<double>(point.first);
}

double MeasuredLine::Mean() const {
  double sum = 0;
  for (const auto& [images, point] : points_) sum += point.mean();
  return sum / static_cast<double>(points_.size());
}

}  // namespace gandem
