// SPDX-License-Identifier: Apache-2.0
#include "training/roles/training_role.h"

#include <algorithm>

#include "common/monotonic_time.h"
#include "common/trace/trace.h"

namespace gandem {
namespace {

constexpr const char* kWaitNames[] = {"wait for images", "wait for feedback",
                                      "wait for data", "wait for cache",
                                      "wait for sync"};
static_assert(std::size(kWaitNames) == RoundTimer::kNumWaits);

CollectiveStats Difference(const CollectiveStats& a, const CollectiveStats& b) {
  return {.sent_bytes = a.sent_bytes - b.sent_bytes,
          .busy = a.busy - b.busy,
          .waited = a.waited - b.waited};
}

}  // namespace

RoundTimer::RoundTimer(const Collective* fleet, WaitBoard* board)
    : fleet_(fleet), board_(board), at_start_(stats()) {}

CollectiveStats RoundTimer::stats() const {
  return fleet_ == nullptr ? CollectiveStats() : fleet_->stats();
}

absl::Time RoundTimer::Begin(Wait wait, Awaited awaited) {
  if (board_ != nullptr) board_->Begin(awaited.what, awaited.whom);
  if (wait == kSync) at_sync_ = stats();
  return MonotonicNow();
}

void RoundTimer::End(Wait wait, absl::Time begin) {
  const absl::Time now = MonotonicNow();
  waits_[wait] += now - begin;
  RecordSpan(kWaitNames[wait], begin, now);
  if (wait != kSync) return;
  const CollectiveStats part = Difference(stats(), at_sync_);
  in_sync_.busy += part.busy;
  in_sync_.waited += part.waited;
}

void RoundTimer::EndRound(RoundMetrics& metrics) {
  const absl::Time now = MonotonicNow();
  const CollectiveStats now_stats = stats();
  const CollectiveStats round = Difference(now_stats, at_start_);
  const CollectiveStats elsewhere = Difference(round, in_sync_);
  waits_[kSync] += elsewhere.waited;
  const absl::Duration hidden =
      std::max(absl::ZeroDuration(), elsewhere.busy - elsewhere.waited);

  metrics.set_unix_seconds(absl::ToUnixMicros(now) * 1e-6);
  metrics.set_round_seconds(absl::ToDoubleSeconds(now - start_));
  metrics.set_wait_images_seconds(absl::ToDoubleSeconds(waits_[kImages]));
  metrics.set_wait_feedback_seconds(absl::ToDoubleSeconds(waits_[kFeedback]));
  metrics.set_wait_data_seconds(absl::ToDoubleSeconds(waits_[kData]));
  metrics.set_wait_cache_seconds(absl::ToDoubleSeconds(waits_[kCache]));
  metrics.set_wait_sync_seconds(absl::ToDoubleSeconds(waits_[kSync]));
  metrics.set_hidden_sync_seconds(absl::ToDoubleSeconds(hidden));
  metrics.set_sync_bytes(round.sent_bytes);
  RecordSpan("round", start_, now, {"round", metrics.round()},
             metrics.role() == GENERATOR ? TraceTrack::kGeneratorRounds
                                         : TraceTrack::kDiscriminatorRounds);
  start_ = now;
  std::fill(std::begin(waits_), std::end(waits_), absl::ZeroDuration());
  at_start_ = now_stats;
  in_sync_ = {};
}

}  // namespace gandem
