// SPDX-License-Identifier: Apache-2.0
//
// What reading ahead did: by intervals for the controller, and from one record
// of metrics to the next.
//
// Owner: prefetcher.h. Thread safety: none; its owner's lock.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "pipeline/control/controller.h"

namespace gandem {

// From the last time that it was asked for.
struct FeedStats {
  double seconds = 0;
  int64_t finished = 0;  // samples
  double work_seconds = 0;
  int64_t stored_bytes = 0;  // that were fetched
  // In which the trainer waited: for samples to be fetched, and for some that
  // were there to be finished.
  double fetch_stall_seconds = 0;
  double finish_stall_seconds = 0;
  // Now.
  int64_t waiting = 0;
  PipelineSetting setting = {};
};

class FeedMeter {
 public:
  explicit FeedMeter(absl::Time now)
      : interval_begin_(now), stats_begin_(now) {}

  void FetchBegan() { ++seen_.fetching; }
  void FetchEnded(absl::Time began, absl::Time now, int64_t bytes,
                  bool at_hand = false);
  // It was for samples that are fetched later, and brought their piece or found
  // that it was there or under way.
  void LookEnded(absl::Time began, absl::Time now, bool brought);
  // It gave way, and begins again.
  void FetchPutOff() { --seen_.fetching; }
  void Finished(int64_t samples, double work_seconds);
  // The trainer waited in [begin, end); until `fetched` for fetches.
  void Stalled(absl::Time begin, absl::Time fetched, absl::Time end);
  void Consumed(int64_t samples) { seen_.consumed += samples; }

  absl::Time interval_begin() const { return interval_begin_; }
  // But for what waits; the next interval begins.
  PipelineSeen EndInterval(absl::Time now);
  // But for what is of now.
  FeedStats TakeStats(absl::Time now);

 private:
  absl::Time interval_begin_;
  PipelineSeen seen_;
  absl::Time stats_begin_;
  FeedStats stats_;
};

}  // namespace gandem
