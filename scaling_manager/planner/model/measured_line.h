// SPDX-License-Identifier: Apache-2.0
//
// Seconds as a function of images, interpolated through measured points
// (docs/cost_model.md section 1).
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>

namespace gandem {

class MeasuredLine {
 public:
  // `grows`: whether seconds depend on images, or all points are equal.
  explicit MeasuredLine(bool grows = true) : grows_(grows) {}

  // Adds a point. Several points of one size count as their mean.
  void Add(int64_t images, double seconds);
  bool empty() const { return points_.empty(); }
  int num_sizes() const { return static_cast<int>(points_.size()); }
  // Returns the seconds for `images`, or 0 without points.
  double At(int64_t images) const;
  // Turns a single point into a line with the shape of `other`, scaled to the
  // point. Does nothing if this line has several sizes, or `other` has one.
  void TakeShapeOf(const MeasuredLine& other);

 private:
  struct Sum {
    double seconds = 0;
    int count = 0;
    double mean() const { return seconds / count; }
  };
  using Points = std::map<int64_t, Sum>;  // by images

  static double PartOf(const Points::value_type& point, int64_t images);
  double Mean() const;

  bool grows_;
  Points points_;
};

}  // namespace gandem
