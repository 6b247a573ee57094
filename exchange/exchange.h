// SPDX-License-Identifier: Apache-2.0
//
// Interfaces of the two ends of the exchange between the fleets: generated
// images one way, critics or image gradients the other (design.md sections 4
// and 6). They carry bytes; training/ converts tensors. Implementations work
// inside a process (colocated) or over gRPC.
//
// Owner: a worker's run epoch owns its end and outlives all callers.
// Thread safety: one compute thread; Close and stats from any thread.
// Errors of every waiting call, which then changes nothing:
//   DEADLINE_EXCEEDED  the deadline passed: check for other work and call
//                      again; with a deadline in the past, the call does not
//                      wait
//   Close()'s reason, or the first failure of the connection; both are sticky
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

// Layout of the payload of images or image gradients.
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

// Generated images [first_index, first_index + count) of a round. Indices of
// kTrain count in the round's TRAIN space, of kFeedback in its FEEDBACK space;
// for kBoth both spaces are equal.
struct ImageBatch {
  ImageUse use = ImageUse::kTrain;
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t generator_version = 0;  // the theta that made the images: the round's
  TensorFormat format = {};
  SharedBytes pixels = {};  // count * format.BytesPerImage()

  IndexRange range() const { return {.first = first_index, .count = count}; }
  // Returns the images of a part of range(), sharing the pixels.
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

// d(generator loss)/d(image) for a batch sent for feedback.
struct FeedbackBatch {
  int64_t round = 0;
  int64_t first_index = 0;
  int64_t count = 0;
  int64_t critic_version = 0;  // the phi that judged the images
  double loss = 0;             // this batch's share of the generator's loss
  TensorFormat format = {};
  SharedBytes gradient = {};
};

// Parameters and buffers of one discriminator version, as training/ packs them.
struct CriticState {
  int64_t version = 0;  // u of phi_u
  SharedBytes bytes = {};
};

// How a successful wait of the discriminator ended.
enum class WaitEnd {
  kDone,
  // BOUNDED: images that need feedback have arrived, and nothing else has
  // changed. The discriminator must answer them and call again; otherwise it
  // could wait forever for a generator that waits for it.
  kAsked,
};

// Images to train on; none if `end` is kAsked.
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

class GeneratorExchange {
 public:
  virtual ~GeneratorExchange() = default;

  // Hands over one micro-batch. Waits while the cache is full. The images may
  // still be in transit at the return; Finish() waits for them.
  //   INVALID_ARGUMENT  size, shape or use does not fit the run
  virtual absl::Status PutImages(const ImageBatch& batch,
                                 absl::Time deadline) = 0;

  // Waits for the answer to the micro-batch that starts at `first_index`.
  virtual absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round,
                                                     int64_t first_index,
                                                     absl::Time deadline) = 0;

  // Waits for critic `version` (BOUNDED: the newest critic of at least
  // `version`). The critic stays available until a later one is returned.
  virtual absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                                 absl::Time deadline) = 0;

  // Waits until all images have arrived and the discriminator knows the end.
  virtual absl::Status Finish(absl::Time deadline) = 0;

  // Returns the number of damaged (and resent) messages of both directions.
  virtual int64_t messages_damaged() const = 0;

  // Returns the discriminator rank awaited by the last DEADLINE_EXCEEDED call.
  virtual int waits_for() const { return 0; }

  virtual void Close(absl::Status reason) = 0;
};

class DiscriminatorExchange {
 public:
  virtual ~DiscriminatorExchange() = default;

  // EXACT: waits for images [first, first + count) of the round's TRAIN space
  // and removes them. The pieces ascend, cut as the generator sent them.
  // BOUNDED: returns the next `count` images in order and ignores `first`:
  // unused images first, then used images that are young enough for a
  // discriminator in `round` and have uses left. Waits while there are too few.
  virtual absl::StatusOr<TakenImages> TakeImages(int64_t round, int64_t first,
                                                 int64_t count,
                                                 absl::Time deadline) = 0;

  // Records that the discriminator has completed `round`. Older images are
  // refused from now on, and the window of accepted rounds moves.
  virtual void FinishRound(int64_t round) = 0;

  // Waits for images that need feedback, of rounds <= last_round, in order of
  // arrival. BOUNDED: only rounds for which the newest critic meets the lag.
  virtual absl::StatusOr<ImageBatch> NextFeedbackRequest(
      int64_t last_round, absl::Time deadline) = 0;
  virtual absl::Status AnswerFeedback(FeedbackBatch answer) = 0;

  // Publishes a newer critic once all generator ranks have the previous one.
  virtual absl::Status PublishCritic(CriticState critic,
                                     absl::Time deadline) = 0;

  // Waits until every generator rank has called Finish().
  virtual absl::StatusOr<WaitEnd> WaitForGenerators(absl::Time deadline) = 0;

  // Returns the rank awaited by the last DEADLINE_EXCEEDED call; -1: any.
  virtual int waits_for() const { return -1; }

  virtual ExchangeStats stats() const = 0;
  virtual void Close(absl::Status reason) = 0;
};

}  // namespace gandem
