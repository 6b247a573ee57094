// SPDX-License-Identifier: Apache-2.0
//
// What has arrived at a generator and was not taken yet: feedback and critics.
// Both kinds of exchange put it here; the compute thread waits here.
//
// Owner: the generator's end; outlives all callers.
// Thread safety: any thread.
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

  // These images were sent for feedback. A repeat changes nothing.
  void ExpectFeedback(const ImageBatch& batch);

  // An answer has arrived; a repeat is OK and changes nothing.
  //   INVALID_ARGUMENT  it does not fit the run, or nobody asked for it.
  absl::Status AddFeedback(FeedbackBatch feedback);
  // A critic has arrived; false: no room until a later one is taken.
  bool OfferCritic(const CriticState& critic);

  // As in exchange.h.
  //   FAILED_PRECONDITION  these images were never sent for feedback, or their
  //                        answer was taken before.
  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline);
  // `has_room` is called without a lock when older critics have been given up
  // and before the wait: what is waited for may lack their room.
  absl::StatusOr<CriticState> TakeCritic(int64_t version, absl::Time deadline,
                                         absl::FunctionRef<void()> has_room);

  // Nothing will be taken any more: critics are accepted and forgotten.
  void Drain();

  int64_t newest_critic_version() const;
  // OK, or Close()'s reason. The first reason is kept.
  absl::Status status() const;
  void Close(absl::Status reason);

 private:
  absl::StatusOr<CriticState> AwaitCritic(int64_t version, absl::Time deadline);

  using Key = std::pair<int64_t, int64_t>;  // round, first_index
  struct Expected {
    int64_t count = 0;
    std::optional<FeedbackBatch> feedback;
  };

  const ExchangeOptions options_;  // never changes after construction

  mutable absl::Mutex mu_;
  std::map<Key, Expected> expected_ ABSL_GUARDED_BY(mu_);
  Key last_taken_ ABSL_GUARDED_BY(mu_) = {-1, -1};
  CriticQueue critics_ ABSL_GUARDED_BY(mu_);
  int64_t arrivals_ ABSL_GUARDED_BY(mu_) = 0;  // wakes TakeCritic
  absl::Status closed_ ABSL_GUARDED_BY(mu_);   // sticky
};

}  // namespace gandem
