// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's end of the exchange: cache, feedback requests and
// answers, and the critic slot behind one mutex. The worker sees it as
// DiscriminatorExchange. A transport calls the rest, on behalf of one generator
// rank: nothing of that waits, and the listener says when it is worth trying
// again. There is no thread.
//
// Owner: the discriminator's run epoch; outlives transport and worker calls.
// Thread safety: any thread.
// Errors: exchange.h; Close()'s reason from all calls that return a status.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "exchange/critic_slot.h"
#include "exchange/exchange.h"
#include "exchange/exchange_options.h"
#include "exchange/feedback_book.h"
#include "exchange/image_cache.h"
#include "exchange/image_ledger.h"

namespace gandem {

class DiscriminatorEnd : public DiscriminatorExchange {
 public:
  explicit DiscriminatorEnd(const ExchangeOptions& options);

  // The worker's face.
  absl::StatusOr<TakenImages> TakeImages(int64_t round, int64_t first,
                                         int64_t count,
                                         absl::Time deadline) override;
  void FinishRound(int64_t round) override;
  absl::StatusOr<ImageBatch> NextFeedbackRequest(int64_t last_round,
                                                 absl::Time deadline) override;
  absl::Status AnswerFeedback(FeedbackBatch answer) override;
  absl::Status PublishCritic(CriticState critic, absl::Time deadline) override;
  absl::StatusOr<WaitEnd> WaitForGenerators(absl::Time deadline) override;
  int waits_for() const override;
  ExchangeStats stats() const override;
  void Close(absl::Status reason) override;

  // A transport's face.

  // Accepts a batch, or a repeat of one; false: no room now, or its round is
  // one that only other discriminators have come to.
  //   INVALID_ARGUMENT     it does not fit the run, or is cut differently than
  //                        the first time.
  //   FAILED_PRECONDITION  its round is outside the accepted window.
  absl::StatusOr<bool> OfferImages(int rank, const ImageBatch& batch);
  // `rank` will send no more images and needs nothing more; with `is_confirmed`
  // it also knows that this is known here, so this end may go.
  absl::Status FinishGenerator(int rank, bool is_confirmed);

  // The oldest answer numbered above `after` that `rank` has not acknowledged.
  std::optional<FeedbackBook::Numbered> NextAnswer(int rank, int64_t after);
  void AcknowledgeAnswer(int rank, int64_t round, int64_t first_index);

  // `rank` says which critic is its newest, -1 for none: after a lost
  // connection, or as a new process.
  //   INVALID_ARGUMENT  that one was never published.
  absl::Status OpenCritics(int rank, int64_t version);
  // The published critic, if newer than `after` and not acknowledged.
  std::optional<CriticState> NextCritic(int rank, int64_t after);
  void AcknowledgeCritic(int rank, int64_t version);

  // Every round before this one is completed.
  int64_t oldest_unfinished_round() const;

  // OK, or Close()'s reason.
  absl::Status status() const;

  // Called without a lock after an answer, a critic, more room or Close, by the
  // thread that caused it. One listener; a call may still be under way for a
  // moment after it was replaced, so it must own what it uses.
  void SetListener(std::function<void()> listener);

 private:
  // Calls `attempt`, which needs mu_, until it is true, again after every
  // change.
  template <typename Attempt>
  absl::Status WaitUntil(const char* what, Attempt attempt, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckTaking(int64_t first, int64_t count) const;
  void AdvanceTo(int64_t round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A state after `version` steps exists, so its rounds are completed.
  void AdvanceToVersion(int64_t version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // BOUNDED: images wait that a critic of the finished rounds may judge.
  bool IsAskedForFeedback() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoom(const ImageBatch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Notify() ABSL_LOCKS_EXCLUDED(mu_);

  bool IsExact() const { return options_.schedule.IsExact(); }
  // The only one, or -1.
  int AnyGenerator() const { return options_.num_generators == 1 ? 0 : -1; }

  const ExchangeOptions options_;  // never changes after construction

  mutable absl::Mutex mu_;
  ImageLedger ledger_ ABSL_GUARDED_BY(mu_);
  ImageCache cache_ ABSL_GUARDED_BY(mu_);
  FeedbackBook feedback_ ABSL_GUARDED_BY(mu_);
  CriticSlot critic_ ABSL_GUARDED_BY(mu_);
  // By generator rank: when it may be given up; its last word ends that.
  std::vector<absl::Time> finish_ ABSL_GUARDED_BY(mu_);
  // The last round whose feedback the worker has asked for; its images need no
  // room, because the worker trains on nothing until it has answered them.
  int64_t wanted_feedback_round_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;  // wakes WaitUntil
  int waits_for_ ABSL_GUARDED_BY(mu_) = -1;   // of the last attempt
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // sticky
  std::function<void()> listener_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
