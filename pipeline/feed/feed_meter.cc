// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/feed_meter.h"

#include <utility>

namespace gandem {

void FeedMeter::FetchEnded(absl::Time began, absl::Time now, int64_t bytes,
                           bool at_hand) {
  --seen_.fetching;
  seen_.fetches.push_back({.seconds = absl::ToDoubleSeconds(now - began),
                           .bytes = bytes,
                           .at_hand = at_hand});
  stats_.stored_bytes += bytes;
}

void FeedMeter::LookEnded(absl::Time began, absl::Time now, bool brought) {
  --seen_.fetching;
  if (!brought) return;
  seen_.look_seconds.push_back(absl::ToDoubleSeconds(now - began));
}

void FeedMeter::Finished(int64_t samples, double work_seconds) {
  seen_.finished += samples;
  seen_.work_seconds += work_seconds;
  stats_.finished += samples;
  stats_.work_seconds += work_seconds;
}

void FeedMeter::Stalled(absl::Time begin, absl::Time fetched, absl::Time end) {
  // A wait that began before the interval's end counts in full in the next.
  seen_.stalled_seconds += absl::ToDoubleSeconds(end - begin);
  stats_.fetch_stall_seconds += absl::ToDoubleSeconds(fetched - begin);
  stats_.finish_stall_seconds += absl::ToDoubleSeconds(end - fetched);
}

PipelineSeen FeedMeter::EndInterval(absl::Time now) {
  seen_.seconds = absl::ToDoubleSeconds(now - interval_begin_);
  interval_begin_ = now;
  const int64_t fetching = seen_.fetching;
  return std::exchange(seen_, PipelineSeen{.fetching = fetching});
}

FeedStats FeedMeter::TakeStats(absl::Time now) {
  stats_.seconds = absl::ToDoubleSeconds(now - stats_begin_);
  stats_begin_ = now;
  return std::exchange(stats_, FeedStats());
}

}  // namespace gandem
