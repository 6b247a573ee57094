// SPDX-License-Identifier: Apache-2.0
//
// Measures the read-ahead: per interval and between metric records.
//
// Owner: prefetcher.h. Thread safety: none; guarded by the owner's lock.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "pipeline/control/controller.h"

namespace gandem {

// Measurements since the previous TakeStats().
struct FeedStats {
  double seconds = 0;
  int64_t finished = 0;  // samples
  double work_seconds = 0;
  int64_t stored_bytes = 0;  // fetched bytes
  // Time that the trainer waited for fetching, and then for finishing.
  double fetch_stall_seconds = 0;
  double finish_stall_seconds = 0;
  // Current state.
  int64_t waiting = 0;
  PipelineSetting setting = {};
};

class FeedMeter {
 public:
  explicit FeedMeter(absl::Time now)
      : interval_begin_(now), stats_begin_(now) {}

  void FetchBegan() { ++seen_.fetching; }
  void FetchEnded(absl::Time began, absl::Time now, int64_t bytes,
                  bool at_hand = false) {
    --seen_.fetching;
    seen_.fetches.push_back({.seconds = absl::ToDoubleSeconds(now - began),
                             .bytes = bytes,
                             .at_hand = at_hand});
    stats_.stored_bytes += bytes;
  }
  void Finished(int64_t samples, double work_seconds) {
    seen_.finished += samples;
    seen_.work_seconds += work_seconds;
    stats_.finished += samples;
    stats_.work_seconds += work_seconds;
  }
  // Records that the trainer waited in [begin, end), for fetches until
  // `fetched`. A wait counts in the interval in which it ends.
  void Stalled(absl::Time begin, absl::Time fetched, absl::Time end) {
    seen_.stalled_seconds += absl::ToDoubleSeconds(end - begin);
    stats_.fetch_stall_seconds += absl::ToDoubleSeconds(fetched - begin);
    stats_.finish_stall_seconds += absl::ToDoubleSeconds(end - fetched);
  }
  void Consumed(int64_t samples) { seen_.consumed += samples; }

  absl::Time interval_begin() const { return interval_begin_; }
  // Returns the measurements of the interval, except the number of waiting
  // samples, and begins the next interval.
  PipelineSeen EndInterval(absl::Time now) {
    seen_.seconds = absl::ToDoubleSeconds(now - interval_begin_);
    interval_begin_ = now;
    const int64_t fetching = seen_.fetching;
    return std::exchange(seen_, PipelineSeen{.fetching = fetching});
  }
  // Returns all measurements except the current state.
  FeedStats TakeStats(absl::Time now) {
    stats_.seconds = absl::ToDoubleSeconds(now - stats_begin_);
    stats_begin_ = now;
    return std::exchange(stats_, FeedStats());
  }

 private:
  absl::Time interval_begin_;
  PipelineSeen seen_;
  absl::Time stats_begin_;
  FeedStats stats_;
};

}  // namespace gandem
