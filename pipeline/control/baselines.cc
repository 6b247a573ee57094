// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/baselines.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace gandem {
namespace {

int64_t SamplesOf(const PipelineLimits& limits, int64_t stored_bytes) {
  return std::max(
      limits.least_ahead,
      limits.memory_bytes / std::max(limits.sample_bytes, stored_bytes));
}

class Climber {
 public:
  explicit Climber(const PipelineLimits& limits) : limits_(limits) {
    const int64_t ahead =
        std::min(2 * limits.least_ahead, SamplesOf(limits, 0));
    setting_ = {
        .fetches = 1, .workers = 1, .ahead = ahead, .finished_ahead = ahead};
  }

  const PipelineSetting& setting() const { return setting_; }

  PipelineSetting Update(const PipelineSeen& seen) {
    for (const FetchSeen& fetch : seen.fetches) {
      stored_bytes_ = std::max(stored_bytes_, fetch.bytes);
    }
    seconds_ += seen.seconds;
    stalled_ += seen.stalled_seconds;
    if (seen.waiting + seen.fetching >= setting_.ahead) was_full_ = true;
    if (seen.stalled_seconds > 0 && was_full_) {
      was_full_ = false;
      setting_.ahead =
          std::min(2 * setting_.ahead, SamplesOf(limits_, stored_bytes_));
      setting_.finished_ahead = setting_.ahead;
    }
    if (seconds_ >= 1) Climb();
    return setting_;
  }

 private:
  void Climb() {
    const double stall = stalled_ / seconds_;
    seconds_ = 0;
    stalled_ = 0;
    if (tried_ != 0 && stall > last_stall_ - 0.005) {
      Knob() -= tried_;
      on_workers_ = !on_workers_;
    }
    tried_ = 0;
    last_stall_ = stall;
    if (stall < 0.01) return;
    const int most = on_workers_ ? limits_.max_workers : limits_.max_fetches;
    if (Knob() >= most) on_workers_ = !on_workers_;
    const int limit = on_workers_ ? limits_.max_workers : limits_.max_fetches;
    tried_ = std::min(std::max(1, Knob() / 4), limit - Knob());
    Knob() += tried_;
  }

  int& Knob() { return on_workers_ ? setting_.workers : setting_.fetches; }

  const PipelineLimits limits_;
  PipelineSetting setting_;
  int64_t stored_bytes_ = 0;
  double seconds_ = 0;  // of this second
  double stalled_ = 0;
  double last_stall_ = 0;
  int tried_ = 0;
  bool on_workers_ = false;
  bool was_full_ = false;
};

// Fading sums of a line through (x, y).
class FadingLine {
 public:
  void Add(double x, double y) {
    for (double* const sum : {&n_, &x_, &y_, &xx_, &xy_, &error_}) {
      *sum *= kKept;
    }
    if (n_ > 1) error_ += std::pow(y - At(x), 2);
    n_ += 1;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
  }
  double At(double x) const {
    const double spread = n_ * xx_ - x_ * x_;
    const double slope =
        spread > 1e-9 * n_ * xx_ ? (n_ * xy_ - x_ * y_) / spread : 0;
    return (y_ - slope * x_) / n_ + slope * x;
  }
  double Deviation() const { return std::sqrt(error_ / n_); }
  bool IsKnown() const { return n_ > 10; }

 private:
  static constexpr double kKept = 0.99;
  double n_ = 0;
  double x_ = 0;
  double y_ = 0;
  double xx_ = 0;
  double xy_ = 0;
  double error_ = 0;
};

class OnTime {
 public:
  explicit OnTime(const PipelineLimits& limits) : limits_(limits) {
    setting_ = {.fetches = 4,
                .workers = limits.max_workers,
                .ahead = SamplesOf(limits, 0),
                .finished_ahead = SamplesOf(limits, 0)};
  }

  const PipelineSetting& setting() const { return setting_; }

  PipelineSetting Update(const PipelineSeen& seen) {
    for (const FetchSeen& fetch : seen.fetches) {
      stored_bytes_ = std::max(stored_bytes_, fetch.bytes);
      const double x =
          static_cast<double>(fetch.bytes) * setting_.fetches * 1e-6;
      if (line_.IsKnown()) {
        constexpr double kQuantile = 0.8416;  // 80 % of a normal distribution
        const bool on_time =
            fetch.seconds <= line_.At(x) + kQuantile * line_.Deviation();
        on_time_ += kWeight * ((on_time ? 1.0 : 0.0) - on_time_);
      }
      line_.Add(x, fetch.seconds);
    }
    since_change_ += seen.seconds;
    if (since_change_ >= 0.5 && !seen.fetches.empty()) {
      if (on_time_ > 0.8) Change(1);
      if (on_time_ < 0.5) Change(-1);
    }
    setting_.ahead = SamplesOf(limits_, stored_bytes_);
    setting_.finished_ahead = setting_.ahead;
    return setting_;
  }

 private:
  static constexpr double kWeight = 0.05;

  void Change(int by) {
    since_change_ = 0;
    setting_.fetches =
        std::clamp(setting_.fetches + by, 1, limits_.max_fetches);
  }

  const PipelineLimits limits_;
  PipelineSetting setting_;
  int64_t stored_bytes_ = 0;
  FadingLine line_;
  double on_time_ = 1;
  double since_change_ = 0;
};

template <typename Rule>
PipelineBaseline BaselineOf(const PipelineLimits& limits) {
  const auto rule = std::make_shared<Rule>(limits);
  return {.first = rule->setting(), .rule = [rule](const PipelineSeen& seen) {
            return rule->Update(seen);
          }};
}

}  // namespace

PipelineBaseline HillClimb(const PipelineLimits& limits) {
  return BaselineOf<Climber>(limits);
}

PipelineBaseline OnTimeRule(const PipelineLimits& limits) {
  return BaselineOf<OnTime>(limits);
}

}  // namespace gandem
