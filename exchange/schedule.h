// SPDX-License-Identifier: Apache-2.0
//
// Schedule of a run as arithmetic (design.md section 4): which images meet
// which versions, and each role's operations. Lag 0 is synchronous.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gandem {

enum class Consistency { kExact, kBounded };
enum class ImageSource { kReused, kFresh };
// Numbers equal those of ScheduleConfig.FeedbackMode.
enum class FeedbackMode { kSnapshot, kImageGradient, kFused };

// Purpose of sending generated images.
enum class ImageUse { kTrain, kFeedback, kBoth };

// Indices [first, first + count).
struct IndexRange {
  int64_t first = 0;
  int64_t count = 0;
  int64_t end() const { return first + count; }
  bool operator==(const IndexRange&) const = default;
};

// Returns the contiguous part of [0, total) owned by `rank` of `size`. Sizes
// differ by at most one; larger parts come first.
IndexRange RankSlice(int64_t total, int rank, int size);

// Returns the images of `rank` of `size` in a step of [0, total) images: its
// slice of each of the `batches` equal batches.
std::vector<IndexRange> RankSlices(int64_t total, int64_t batches, int rank,
                                   int size);
// Returns the position of image `index` in `slices`, which contain it.
int64_t PlaceInSlices(const std::vector<IndexRange>& slices, int64_t index);
// Returns the number of images in RankSlices().
int64_t RankImages(int64_t total, int64_t batches, int rank, int size);

// Cuts `range` into pieces of at most `micro_batch` images; 0: one piece.
std::vector<IndexRange> MicroBatches(IndexRange range, int64_t micro_batch);

struct Schedule {
  int64_t lag = 1;                            // L, in rounds, >= 0
  int64_t discriminator_steps_per_round = 1;  // R, >= 1
  Consistency consistency = Consistency::kExact;
  ImageSource image_source = ImageSource::kReused;
  FeedbackMode feedback = FeedbackMode::kSnapshot;
  // Images of a step of the whole fleet: B_G and B_D, times sync.interval.
  int64_t generator_batch = 1;
  int64_t discriminator_batch = 1;
  // Number of batches in a step; a rank has a slice of each.
  int64_t generator_batches = 1;
  int64_t discriminator_batches = 1;
  // Images per forward pass; 0: a rank's whole slice of a batch.
  int64_t generator_micro_batch = 0;
  int64_t discriminator_micro_batch = 0;
  // Order within a discriminator step. False: generated images first, so that a
  // generator waiting for feedback on them can continue early.
  bool real_first = true;

  constexpr bool IsExact() const { return consistency == Consistency::kExact; }
  // Returns the number of completed discriminator rounds whose resulting state
  // is the critic of generator round `round`.
  constexpr int64_t CriticBoundary(int64_t round) const {
    return std::max<int64_t>(0, round + 1 - lag);
  }
  // Returns the version of phi that judges image `index` of round `round`.
  constexpr int64_t CriticVersion(int64_t round, int64_t index = 0) const {
    const int64_t step = JudgesInTraining() ? index / discriminator_batch : 0;
    return CriticBoundary(round) * discriminator_steps_per_round + step;
  }
  // Returns the last generator round whose critic exists after `boundary`
  // completed discriminator rounds; -1: none.
  constexpr int64_t LastRoundJudgedBy(int64_t boundary) const {
    return boundary + lag - 1;
  }
  // Returns the images per round that the discriminator trains on.
  constexpr int64_t TrainImagesPerRound() const {
    return discriminator_steps_per_round * discriminator_batch;
  }
  // Returns whether the generator sends its step's images and takes answers by
  // micro-batch, instead of one critic per round to judge by itself.
  constexpr bool AnswersImages() const {
    switch (feedback) {
      case FeedbackMode::kSnapshot:
        return false;
      case FeedbackMode::kImageGradient:
      case FeedbackMode::kFused:
        return true;
    }
    return false;
  }
  // Returns true if answers come from the pass that trains on the images, so
  // that their critic is the version at the start of that step, false if
  // critics are versions between rounds.
  constexpr bool JudgesInTraining() const {
    return feedback == FeedbackMode::kFused;
  }
  constexpr bool SendsStepImages() const {
    return image_source == ImageSource::kReused || AnswersImages();
  }
  // Returns the use of the step's images, if SendsStepImages().
  constexpr ImageUse StepImageUse() const {
    if (!AnswersImages()) return ImageUse::kTrain;
    return image_source == ImageSource::kReused ? ImageUse::kBoth
                                                : ImageUse::kFeedback;
  }
};

// Part of a range of images and the rank that owns it.
struct RankedRange {
  int rank = 0;
  IndexRange range = {};
  bool operator==(const RankedRange&) const = default;
};

// Splits `range` of a round's TRAIN space by the rank of `size` that trains on
// it. A rank has its slice of each batch of each step.
std::vector<RankedRange> SplitByTrainer(const Schedule& schedule,
                                        IndexRange range, int size);
// Splits `range` of the FEEDBACK space by the rank of `size` that judges it. A
// REUSED image is judged by the rank that trains on it, so it is sent only
// once. FRESH images are split by slices of the generator's batches.
std::vector<RankedRange> SplitByJudge(const Schedule& schedule,
                                      IndexRange range, int size);
// Returns the generator rank that makes image `index` of the TRAIN space.
int MakerOf(const Schedule& schedule, int64_t index, int size);
// Returns the number of images of a generator round that `rank` judges.
int64_t ImagesJudgedBy(const Schedule& schedule, int rank, int size);

// Returns the discriminator rank that provides a generator rank's critics.
constexpr int CriticSource(int generator_rank, int num_generators,
                           int num_discriminators) {
  return static_cast<int>(int64_t{generator_rank} * num_discriminators /
                          num_generators);
}

// Returns a generator rank's images of a step, one range per forward pass.
std::vector<IndexRange> GeneratorPieces(const Schedule& schedule, int rank,
                                        int size);

// Operation of a generator round. Compute operations never wait; Send and Take
// wait, and change nothing until they succeed.
struct GeneratorOp {
  enum class Kind {
    kMakeImages,    // FRESH: forward without gradient, for discriminator `step`
    kSendImages,    // FRESH: sends the made images (TRAIN)
    kForward,       // forward pass on the step's images, with gradient
    kSendForward,   // sends the step's images (BOTH, TRAIN or FEEDBACK)
    kTakeCritic,    // waits for critic_version, which judges the step
    kTakeFeedback,  // waits for the answer to one micro-batch
    kBackward,      // accumulates the gradient of one micro-batch
    kUpdate,        // optimizer and EMA step; ends the round
  };
  Kind kind = Kind::kUpdate;
  int64_t step = 0;       // kMakeImages, kSendImages: u within the round
  IndexRange range = {};  // in the TRAIN space (FRESH) or the FEEDBACK space
  int64_t critic_version = 0;  // kTakeCritic, kTakeFeedback
};

// Operation of a discriminator round.
struct DiscriminatorOp {
  enum class Kind {
    kReal,       // forward and backward on one real micro-batch
    kTake,       // waits for one generated micro-batch
    kGenerated,  // forward and backward on that micro-batch
    kUpdate,     // optimizer step
  };
  Kind kind = Kind::kUpdate;
  int64_t step = 0;  // u within the round
  // kReal: within the step's batch. kTake, kGenerated: in the TRAIN space.
  IndexRange range = {};
};

// Returns one rank's operations of round `round`, in order.
std::vector<GeneratorOp> GeneratorRound(const Schedule& schedule, int64_t round,
                                        int rank, int size);
// Returns one rank's operations of a round, in order. With BOUNDED, a step's
// images are taken before its first forward pass, so a waiting discriminator is
// between versions and can answer feedback requests.
std::vector<DiscriminatorOp> DiscriminatorRound(const Schedule& schedule,
                                                int rank, int size);

}  // namespace gandem
