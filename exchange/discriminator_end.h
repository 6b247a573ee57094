// SPDX-License-Identifier: Apache-2.0
//
// Discriminator's end of the exchange: image cache, feedback requests and
// answers, and critic slot behind one mutex. The worker uses it as
// DiscriminatorExchange. A transport calls the other functions for one
// generator rank; they never wait, and the listener reports when to retry.
//
// Owner: the discriminator's run epoch; outlives calls of transport and worker.
// Thread safety: any thread.
// Errors: those of exchange.h. Calls with a status may return Close()'s reason.
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

  // For the worker.
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

  // For a transport.

  // Accepts a batch or its repeat. Returns false if there is no room now, or if
  // only other discriminators have reached the batch's round.
  //   INVALID_ARGUMENT     does not fit the run, or is a range cut differently
  //                        the first time
  //   FAILED_PRECONDITION  the round is outside the accepted window
  absl::StatusOr<bool> OfferImages(int rank, const ImageBatch& batch);
  // Records that `rank` sends no more images and needs nothing more.
  // `is_confirmed`: `rank` knows that this end knows, so this end may exit.
  absl::Status FinishGenerator(int rank, bool is_confirmed);

  // Returns the oldest unacknowledged answer numbered above `after`.
  std::optional<FeedbackBook::Numbered> NextAnswer(int rank, int64_t after);
  void AcknowledgeAnswer(int rank, int64_t round, int64_t first_index);

  // Records `rank`'s newest critic (-1: none) on a new connection.
  //   INVALID_ARGUMENT  the version was never published
  absl::Status OpenCritics(int rank, int64_t version);
  // Returns the published critic if newer than `after` and unacknowledged.
  std::optional<CriticState> NextCritic(int rank, int64_t after);
  void AcknowledgeCritic(int rank, int64_t version);

  // Returns OK, or Close()'s reason.
  absl::Status status() const;

  // Sets the only listener, called without a lock by the thread that adds an
  // answer, a critic or room, or calls Close. A replaced listener may still run
  // shortly, so listeners must own all objects that they use.
  void SetListener(std::function<void()> listener);

 private:
  // Calls `attempt`, with mu_ held, after every change until it returns true.
  template <typename Attempt>
  absl::Status WaitUntil(const char* what, Attempt attempt, absl::Time deadline)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status CheckTaking(int64_t first, int64_t count) const;
  void AdvanceTo(int64_t round) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Completes the rounds that end at or before discriminator step `version`.
  void AdvanceToVersion(int64_t version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // BOUNDED: returns whether images wait for feedback that can be given.
  bool IsAskedForFeedback() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoom(const ImageBatch& batch) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Notify() ABSL_LOCKS_EXCLUDED(mu_);

  bool IsExact() const { return options_.schedule.IsExact(); }
  int AnyGenerator() const { return options_.num_generators == 1 ? 0 : -1; }

  const ExchangeOptions options_;

  mutable absl::Mutex mu_;
  ImageLedger ledger_ ABSL_GUARDED_BY(mu_);
  ImageCache cache_ ABSL_GUARDED_BY(mu_);
  FeedbackBook feedback_ ABSL_GUARDED_BY(mu_);
  CriticSlot critic_ ABSL_GUARDED_BY(mu_);
  // Time at which the wait for a generator rank ends, set by its last message.
  std::vector<absl::Time> finish_ ABSL_GUARDED_BY(mu_);
  // Last round for which the worker has requested feedback. Its images need no
  // room, because the worker trains on nothing before it has answered them.
  int64_t wanted_feedback_round_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;  // wakes WaitUntil
  int waits_for_ ABSL_GUARDED_BY(mu_) = -1;   // set by the last attempt
  absl::Status closed_ ABSL_GUARDED_BY(mu_);  // first reason; OK: open
  std::function<void()> listener_ ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
