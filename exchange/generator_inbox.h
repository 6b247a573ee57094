// SPDX-License-Identifier: Apache-2.0
//
// Feedback and critics that have arrived at a generator. Both exchanges store
// into the inbox; the compute thread waits for its contents.
//
// Owner: the generator's end; outlives all callers. Thread safety: any thread.
// Errors of waiting calls: DEADLINE_EXCEEDED, or Close()'s reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "exchange/critic_queue.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"

namespace gandem {

class GeneratorInbox {
 public:
  explicit GeneratorInbox(const ExchangeOptions& options);

  // Records that these images were sent for feedback. Ignores repeats.
  void ExpectFeedback(const ImageBatch& batch);

  // Stores an answer. Ignores repeats.
  //   INVALID_ARGUMENT  does not fit the run, or was not requested
  absl::Status AddFeedback(FeedbackBatch feedback);
  // Stores a critic, or returns false for lack of room.
  bool OfferCritic(const CriticState& critic);

  // As in exchange.h.
  //   FAILED_PRECONDITION  the images were not sent for feedback, or their
  //                        answer was already taken
  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline);
  // As in exchange.h. Calls `has_room` without a lock between discarding older
  // critics and waiting, because the awaited critic may need their room.
  absl::StatusOr<CriticState> TakeCritic(int64_t version, absl::Time deadline,
                                         absl::FunctionRef<void()> has_room);

  // Makes the inbox accept and discard all later critics.
  void Drain();

  int64_t newest_critic_version() const;
  // Returns OK, or the first reason passed to Close().
  absl::Status status() const;
  void Close(absl::Status reason);

 private:
  absl::StatusOr<CriticState> AwaitCritic(int64_t version, absl::Time deadline);

  using Key = std::pair<int64_t, int64_t>;  // round, first_index
  struct Expected {
    int64_t count = 0;
    std::optional<FeedbackBatch> feedback;
  };

  const ExchangeOptions options_;

  mutable absl::Mutex mu_;
  std::map<Key, Expected> expected_ ABSL_GUARDED_BY(mu_);
  Key last_taken_ ABSL_GUARDED_BY(mu_) = {-1, -1};
  CriticQueue critics_ ABSL_GUARDED_BY(mu_);
  int64_t arrivals_ ABSL_GUARDED_BY(mu_) = 0;  // wakes TakeCritic
  absl::Status closed_ ABSL_GUARDED_BY(mu_);   // first reason; OK: open
};

}  // namespace gandem
