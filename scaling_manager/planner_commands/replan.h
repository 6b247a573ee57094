// SPDX-License-Identifier: Apache-2.0
//
// Whether a run should go on in another shape: arithmetic, without clocks.
//
// A shape is proposed when it was 5 % or more better in two checks in a row.
// What is compared with the speed that was measured is the speed that was
// measured of the other shape, if the run had it before, else the predicted
// one; so a prediction that was wrong is believed once. A shape is entered
// twice at most, by a prediction and by what was measured: a run of n shapes
// changes less than 2n times, whatever is measured, and goes back and forth
// between none.
//
// Owner: `gandem train --replan`. Thread safety: one thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gandem {

// What a check compares, for each shape by its name. Speeds are images/s at the
// same quality.
struct ShapeSpeed {
  std::string shape = {};
  double speed = 0;  // predicted
};

class ReplanJudge {
 public:
  static constexpr double kLeastGain = 0.05;
  static constexpr int kChecksInARow = 2;

  // The run is in this shape now.
  explicit ReplanJudge(std::string shape) : shape_(std::move(shape)) {
    ++entered_[shape_];
  }

  struct Proposal {
    std::string shape;
    double gain = 0;  // 0.08: 8 % faster
  };
  // `measured`: of the present shape since the last check, above 0; else the
  // check does not count. `predicted`: of all shapes that may be taken, the
  // present one included, by a model that was corrected by what was measured.
  std::optional<Proposal> Check(double measured,
                                const std::vector<ShapeSpeed>& predicted);

  // A proposal was taken.
  void Enter(const std::string& shape);

  const std::string& shape() const { return shape_; }

 private:
  std::optional<Proposal> Best(double measured,
                               const std::vector<ShapeSpeed>& predicted) const;

  std::string shape_;
  std::map<std::string, double> measured_;  // the newest of each shape
  std::map<std::string, int> entered_;      // how often
  std::string candidate_;                   // of the last check; empty: none
  int in_a_row_ = 0;
};

}  // namespace gandem
