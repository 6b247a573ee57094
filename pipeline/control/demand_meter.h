// SPDX-License-Identifier: Apache-2.0
//
// How many samples a second a trainer would take if it never waited for them.
//
// It takes a batch at once and then computes for a while, so a batch counts
// with the computing time up to the next one: the last batch of an interval is
// known only when the trainer comes again.
//
// Owner: the controller. Thread safety: one thread. Times are in seconds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gandem {

class DemandMeter {
 public:
  // An interval of `seconds`, of which the trainer waited for `stalled`.
  void Update(double seconds, int64_t consumed, double stalled) {
    open_seconds_ += std::max(0.0, seconds - stalled);
    if (consumed > 0) {
      if (open_ > 0) Add(open_, std::max(open_seconds_, kLeastSeconds));
      open_ = static_cast<double>(consumed);
      open_seconds_ = 0;
    }
    const double now = Now();
    held_ = std::max(now, held_ * std::exp2(-seconds / kHeldHalfLife));
  }

  // Follows a rise within two batches, and a fall in some ten seconds. 0:
  // not known yet.
  double rate() const { return held_; }

 private:
  static constexpr double kMemory = 2;  // of the mean, in seconds
  static constexpr double kHeldHalfLife = 10;
  static constexpr double kLeastSeconds = 1e-3;

  void Add(double samples, double seconds) {
    const double kept = std::exp(-seconds / kMemory);
    samples_ = samples_ * kept + samples;
    seconds_ = seconds_ * kept + seconds;
  }

  double Now() const {
    if (seconds_ <= 0) return 0;
    const double mean = samples_ / seconds_;
    // It computes for longer than it ever did, or has paused.
    if (open_seconds_ * mean > 2 * open_) {
      return std::min(mean, open_ / open_seconds_);
    }
    return mean;
  }

  double samples_ = 0;
  double seconds_ = 0;
  double held_ = 0;
  double open_ = 0;          // samples of the newest batches,
  double open_seconds_ = 0;  // and the time that was computed since
};

}  // namespace gandem
