// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/fetch_ramp.h"

#include <algorithm>
#include <cmath>

namespace gandem {
namespace {

constexpr double kRateMemory = 0.5;
// Of the growth that an unsaturated link would show.
constexpr double kLeastGain = 0.5;
constexpr double kFirstPause = 4;
constexpr double kLongestPause = 64;
// A rate that differs by more is that of another link.
constexpr double kOtherLink = 1.5;
constexpr int64_t kKnownFetches = 64;
// Two intervals show the rate of fetches that take no longer.
constexpr double kShortService = 0.2;
constexpr double kEnoughFetches = 48;
constexpr double kEnoughSeconds = 0.2;
constexpr double kLongestTrial = 2;
// Between these two shares of what runs, `wanted` changes nothing.
constexpr double kTooFew = 1.15;
constexpr double kTooMany = 0.7;
constexpr double kLowBefore = 3;

}  // namespace

int FetchRamp::Update(const Interval& interval) {
  if (interval.silent) return fetches_;
  SeeRate(interval);
  if (trying_) {
    Judge(interval);
    return fetches_;
  }
  WatchSaturation(interval.seconds);
  if (interval.wanted > kTooFew * fetches_ && fetches_ < most_) {
    low_seconds_ = 0;
    if (!saturated_ && ended_ >= kKnownFetches) Try(interval);
  } else {
    GoDown(interval);
  }
  return fetches_;
}

void FetchRamp::SeeRate(const Interval& interval) {
  ended_ += interval.ended;
  if (ended_ == 0) return;  // nothing was fetched yet
  const double rate = static_cast<double>(interval.ended) / interval.seconds;
  const double kept = std::exp(-interval.seconds / kRateMemory);
  rate_ = ended_ == interval.ended ? rate : rate_ * kept + (1 - kept) * rate;
  newest_rate_ = (last_rate_ + rate) / 2;
  last_rate_ = rate;
}

void FetchRamp::Try(const Interval& interval) {
  trial_ = {.before = fetches_,
            .rate_before = interval.service_seconds < kShortService
                               ? std::min(rate_, newest_rate_)
                               : rate_,
            .settling = std::max(0.1, 1.2 * interval.service_seconds)};
  trying_ = true;
  fetches_ = std::min({2 * fetches_, most_,
                       static_cast<int>(std::ceil(
                           std::min(interval.wanted, double{1 << 20})))});
}

void FetchRamp::Judge(const Interval& interval) {
  if (trial_.settling > 0) {
    trial_.settling -= interval.seconds;
    return;
  }
  trial_.seconds += interval.seconds;
  trial_.ended += static_cast<double>(interval.ended);
  if (interval.running < 0.7 * fetches_) trial_.all_ran = false;
  const bool enough =
      trial_.ended >= kEnoughFetches &&
      trial_.seconds >= std::max(kEnoughSeconds, interval.service_seconds);
  if (!enough && trial_.seconds < kLongestTrial) return;
  trying_ = false;
  const double growth = static_cast<double>(fetches_) / trial_.before - 1;
  const double rate = trial_.ended / trial_.seconds;
  rate_ = rate;
  if (!trial_.all_ran ||
      rate >= trial_.rate_before * (1 + kLeastGain * growth)) {
    pause_ = 0;
    return;
  }
  fetches_ = trial_.before;
  saturated_ = true;
  saturated_rate_ = rate;
  pause_ = std::clamp(2 * pause_, kFirstPause, kLongestPause);
  pause_left_ = pause_;
}

void FetchRamp::WatchSaturation(double seconds) {
  if (!saturated_) return;
  pause_left_ -= seconds;
  const bool other_link = rate_ > kOtherLink * saturated_rate_ ||
                          rate_ * kOtherLink < saturated_rate_;
  if (other_link) pause_ = 0;
  if (other_link || pause_left_ <= 0) saturated_ = false;
}

void FetchRamp::GoDown(const Interval& interval) {
  if (interval.wanted >= kTooMany * fetches_) {
    low_seconds_ = 0;
    return;
  }
  low_seconds_ += interval.seconds;
  if (low_seconds_ < kLowBefore) return;
  low_seconds_ = kLowBefore - 1;  // a step a second
  fetches_ = std::max({1, static_cast<int>(std::ceil(interval.wanted)),
                       static_cast<int>(0.8 * fetches_)});
}

}  // namespace gandem
