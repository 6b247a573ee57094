// SPDX-License-Identifier: Apache-2.0
//
// The two ends of the exchange between the fleets: generated images one way,
// critics or image gradients the other (design.md sections 4 and 6). Bytes
// only; training/ turns them into tensors. An implementation either moves them
// inside the process (colocated) or over gRPC.
//
// Owner: a worker's run epoch owns its end and outlives all its callers.
// Thread safety: one compute thread calls; Close and stats from any thread.
// Errors of every waiting call, which then changed nothing:
//   DEADLINE_EXCEEDED  the deadline passed first: look around and call again.
//                      A deadline in the past makes the call a try.
//   Close()'s reason, or the first failure of the connection; both are sticky.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/shared_bytes.h"
#include "exchange/encoding.h"
#include "exchange/schedule.h"

namespace gandem {

// How the payload of images or image gradients is laid out.
struct TensorFormat {
  Encoding encoding = Encoding::kFloat32;
  Layout layout = Layout::kNchw;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  int64_t BytesPerImage() const {
    return channels * height * width * BytesPerElement(encoding);
  }
  bool operator==(const TensorFormat&) const = default;
};

// Generated images [first_index, first_index + count) of a round: of its TRAIN
// space for kTrain, of its FEEDBACK space otherwise (for kBoth they are one).
struct ImageBatch {
  ImageUse use = ImageUse::kTrain;
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t generator_version = 0;  // theta that made them: the round's
  TensorFormat format = {};
  SharedBytes pixels = {};  // count * format.BytesPerImage()

  IndexRange range() const { return {.first = first_index, .count = count}; }
  // The images of a part of range(); shares the pixels.
  ImageBatch Cut(IndexRange part) const {
    ImageBatch batch = *this;
    batch.first_index = part.first;
    batch.count = part.count;
    batch.pixels =
        pixels.Slice((part.first - first_index) * format.BytesPerImage(),
                     part.count * format.BytesPerImage());
    return batch;
  }
};

// d(generator loss)/d(image) for a batch that was sent for feedback.
struct FeedbackBatch {
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t critic_version = 0;  // phi that judged
  double loss = 0;             // this batch's share of the generator's loss
  TensorFormat format = {};
  SharedBytes gradient = {};
};

// Parameters and buffers of one discriminator version, as training/ packs them.
struct CriticState {
  int64_t version = 0;  // u of phi_u
  SharedBytes bytes = {};
};

// How a wait of the discriminator ended, if not by an error.
enum class WaitEnd {
  kDone,
  // BOUNDED: images to judge have arrived. Nothing else has changed; it answers
  // them and calls again, because a discriminator that waits for a generator
  // that waits for it would not end.
  kAsked,
};

// What the discriminator trains on; kAsked: nothing yet.
struct TakenImages {
  WaitEnd end = WaitEnd::kDone;
  std::vector<ImageBatch> pieces = {};
};

struct ExchangeStats {
  int64_t cache_images = 0;
  int64_t cache_capacity = 0;   // images
  int64_t images_dropped = 0;   // BOUNDED: too old, never used again
  int64_t images_replayed = 0;  // BOUNDED: uses after the first
};

// The generator's end.
class GeneratorExchange {
 public:
  virtual ~GeneratorExchange() = default;

  // Hands over one micro-batch; waits while the cache is full. The images may
  // still be on their way when it returns; Finish() waits for the last.
  //   INVALID_ARGUMENT  sizes, shape or use do not fit the run.
  virtual absl::Status PutImages(const ImageBatch& batch,
                                 absl::Time deadline) = 0;

  // Waits for the answer to the micro-batch that starts at `first_index`.
  virtual absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round,
                                                     int64_t first_index,
                                                     absl::Time deadline) = 0;

  // Waits for critic `version`, with BOUNDED for the newest one that is at
  // least that. It stays available until a later one was returned.
  virtual absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                                 absl::Time deadline) = 0;

  // All images have arrived, and the discriminator knows that none will follow.
  virtual absl::Status Finish(absl::Time deadline) = 0;

  // Of either direction, since the beginning: each was sent again.
  virtual int64_t messages_damaged() const = 0;

  // The discriminator rank for which the last call that returned
  // DEADLINE_EXCEEDED waits.
  virtual int waits_for() const { return 0; }

  virtual void Close(absl::Status reason) = 0;
};

// The discriminator's end.
class DiscriminatorExchange {
 public:
  virtual ~DiscriminatorExchange() = default;

  // EXACT: waits for images [first, first + count) of the round's TRAIN space
  // and removes them. Pieces in ascending order, as the generator cut them.
  // BOUNDED: the next `count` images in order, whatever `first` is: unused ones
  // first, else used ones that are young enough for a discriminator in `round`
  // and have uses left; waits when there are none.
  virtual absl::StatusOr<TakenImages> TakeImages(int64_t round, int64_t first,
                                                 int64_t count,
                                                 absl::Time deadline) = 0;

  // The discriminator has completed `round`: older images and repeats are
  // refused from now on, and the window of accepted rounds moves.
  virtual void FinishRound(int64_t round) = 0;

  // Waits for images that want feedback, of rounds <= last_round, in order of
  // arrival. BOUNDED never gives out a round whose lag a critic of the rounds
  // finished so far would exceed.
  virtual absl::StatusOr<ImageBatch> NextFeedbackRequest(
      int64_t last_round, absl::Time deadline) = 0;
  virtual absl::Status AnswerFeedback(FeedbackBatch answer) = 0;

  // Publishes a critic, in ascending version. Waits until every generator rank
  // has acknowledged the one before.
  virtual absl::Status PublishCritic(CriticState critic,
                                     absl::Time deadline) = 0;

  // Waits until every generator rank has called Finish(): then it has all that
  // it needs.
  virtual absl::StatusOr<WaitEnd> WaitForGenerators(absl::Time deadline) = 0;

  // The generator rank for which the last call that returned DEADLINE_EXCEEDED
  // waits; -1: any.
  virtual int waits_for() const { return -1; }

  virtual ExchangeStats stats() const = 0;
  virtual void Close(absl::Status reason) = 0;
};

}  // namespace gandem
