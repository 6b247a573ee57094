// SPDX-License-Identifier: Apache-2.0
//
// Seconds as a function of images, through measured points
// (docs/cost_model.md section 1).
//
// Owner: values; copy freely. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>

namespace gandem {

class MeasuredLine {
 public:
  // `grows` with images; false: does not depend on them, so that all points
  // measure one number.
  explicit MeasuredLine(bool grows = true) : grows_(grows) {}

  // Several of one size count as their mean.
  void Add(int64_t images, double seconds);
  bool empty() const { return points_.empty(); }
  int num_sizes() const { return static_cast<int>(points_.size()); }
  // 0 without points.
  double At(int64_t images) const;
  // From one point to a line: that of an operation much like this one, times
  // what this one takes of it at its only size. Does nothing where this one has
  // more, or the other one no more.
  void TakeShapeOf(const MeasuredLine& other);

 private:
  struct Sum {
    double seconds = 0;
    int count = 0;
    double mean() const { return seconds / count; }
  };
  using Points = std::map<int64_t, Sum>;  // by images

  // The part of a point's seconds that so many images are of its own.
  static double PartOf(const Points::value_type& point, int64_t images);
  double Mean() const;

  bool grows_;
  Points points_;
};

}  // namespace gandem
