// SPDX-License-Identifier: Apache-2.0
//
// How long fetches took of late, as quantiles: a histogram whose bins are 10 %
// apart and whose counts fade. Lossless enough for decisions, and the same size
// whatever happens.
//
// Owner: the controller. Thread safety: one thread. Times are in seconds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace gandem {

class ServiceTimes {
 public:
  // Counts are halved in so many seconds.
  explicit ServiceTimes(double half_life) : half_life_(half_life) {}

  void Fade(double seconds) {
    const double kept = std::exp2(-seconds / half_life_);
    for (double& count : counts_) count *= kept;
    total_ *= kept;
    sum_ *= kept;
    squares_ *= kept;
  }

  void Add(double seconds) {
    AddPart(seconds);
    const double place =
        std::log(std::max(seconds, kShortest) / kShortest) / std::log(kRatio);
    counts_[std::min(static_cast<size_t>(place), kBins - 1)] += 1;
    total_ += 1;
  }

  // Of what was part of other fetches: it takes a place, and is none of them.
  void AddPart(double seconds) {
    sum_ += seconds;
    squares_ += seconds * seconds;
  }

  // How many fetches it is made of, faded.
  double total() const { return total_; }

  // 0 where there were none.
  double Mean() const { return total_ > 0 ? sum_ / total_ : 0; }

  // Of a fetch that is under way at some moment, the long ones more often: a
  // block's, where most samples find theirs at hand. 0 where there were none.
  double MeanUnderWay() const { return sum_ > 0 ? squares_ / sum_ : 0; }

  // The upper edge of the bin in which a share of `part` is reached.
  double Quantile(double part) const {
    if (total_ <= 0) return 0;
    double seen = 0;
    for (size_t bin = 0; bin < kBins; ++bin) {
      seen += counts_[bin];
      if (seen >= part * total_) return EdgeOf(bin);
    }
    return EdgeOf(kBins - 1);
  }

 private:
  static constexpr double kShortest = 1e-4;
  static constexpr double kRatio = 1.1;
  static constexpr size_t kBins = 160;  // up to 420 s

  static double EdgeOf(size_t bin) {
    return kShortest * std::pow(kRatio, static_cast<double>(bin + 1));
  }

  double half_life_;
  std::array<double, kBins> counts_ = {};
  double total_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace gandem
