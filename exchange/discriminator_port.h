// SPDX-License-Identifier: Apache-2.0
//
// What a transport does at the discriminator's end on behalf of one generator
// rank: the other face of DiscriminatorEnd. Nothing here waits; the listener
// says when it is worth trying again.
//
// Owner: outlives the transport.
// Thread safety: any thread.
// Errors: Close()'s reason from all calls that return a status.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/feedback_book.h"

namespace gandem {

class DiscriminatorPort {
 public:
  virtual ~DiscriminatorPort() = default;

  // Accepts a batch, or a repeat of one; false: no room now, or its round is
  // one that only other discriminators have come to.
  //   INVALID_ARGUMENT     it does not fit the run, or is cut differently than
  //                        the first time.
  //   FAILED_PRECONDITION  its round is outside the accepted window.
  virtual absl::StatusOr<bool> OfferImages(int rank,
                                           const ImageBatch& batch) = 0;
  // `rank` will send no more images and needs nothing more; with `is_confirmed`
  // it also knows that this is known here, so this end may go.
  virtual absl::Status FinishGenerator(int rank, bool is_confirmed) = 0;

  // The oldest answer numbered above `after` that `rank` has not acknowledged.
  virtual std::optional<FeedbackBook::Numbered> NextAnswer(int rank,
                                                           int64_t after) = 0;
  virtual void AcknowledgeAnswer(int rank, int64_t round,
                                 int64_t first_index) = 0;

  // `rank` says which critic is its newest, -1 for none: after a lost
  // connection, or as a new process.
  //   INVALID_ARGUMENT  that one was never published.
  virtual absl::Status OpenCritics(int rank, int64_t version) = 0;
  // The published critic, if newer than `after` and not acknowledged.
  virtual std::optional<CriticState> NextCritic(int rank, int64_t after) = 0;
  virtual void AcknowledgeCritic(int rank, int64_t version) = 0;

  // Every round before this one is completed.
  virtual int64_t oldest_unfinished_round() const = 0;

  // OK, or Close()'s reason.
  virtual absl::Status status() const = 0;

  // Called without a lock after an answer, a critic, more room or Close, by the
  // thread that caused it. One listener; a call may still be under way for a
  // moment after it was replaced, so it must own what it uses.
  virtual void SetListener(std::function<void()> listener) = 0;
};

}  // namespace gandem
