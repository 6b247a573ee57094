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
  // 0 without points.
  double At(int64_t images) const;
  // Mean of this line over the other one, at this one's points; 1 where either
  // has none.
  double RatioTo(const MeasuredLine& other) const;

 private:
  struct Sum {
    double seconds = 0;
    int count = 0;
    double mean() const { return seconds / count; }
  };
  double Mean() const;

  bool grows_;
  std::map<int64_t, Sum> points_;  // by images
};

}  // namespace gandem
