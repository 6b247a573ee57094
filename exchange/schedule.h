// SPDX-License-Identifier: Apache-2.0
//
// The schedule of a run as arithmetic (design.md section 4): which images meet
// which version of each network, and each role's operations in order. Lag 0 is
// the synchronous algorithm.
//
// Owner: values; copy freely.
// Thread safety: pure functions, no locks, no I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gandem {

enum class Consistency { kExact, kBounded };
enum class ImageSource { kReused, kFresh };
// The numbers equal those of ScheduleConfig.FeedbackMode.
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

// The contiguous part of [0, total) that `rank` of `size` owns. Sizes differ by
// at most one; larger parts come first.
IndexRange RankSlice(int64_t total, int rank, int size);

// The images of `rank` of `size` in a step of [0, total) images: its slice of
// each of the `batches` equal batches, so that one pass of all ranks covers one
// batch.
std::vector<IndexRange> RankSlices(int64_t total, int64_t batches, int rank,
                                   int size);
// The position of image `index` among the images of all `slices`, one of which
// contains it.
int64_t PlaceInSlices(const std::vector<IndexRange>& slices, int64_t index);
// The number of images in RankSlices().
int64_t RankImages(int64_t total, int64_t batches, int rank, int size);

// `range` in pieces of at most `micro_batch` images; 0: one piece.
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
  // Order within a discriminator step. If false, generated images come first: a
  // generator that waits for feedback on them can continue while the
  // discriminator trains on the real images.
  bool real_first = true;

  constexpr bool IsExact() const { return consistency == Consistency::kExact; }
  // Number of completed discriminator rounds after which its state is the
  // critic of generator round `round`.
  constexpr int64_t CriticBoundary(int64_t round) const {
    return std::max<int64_t>(0, round + 1 - lag);
  }
  // Version of phi that judges image `index` of generator round `round`.
  constexpr int64_t CriticVersion(int64_t round, int64_t index = 0) const {
    const int64_t step = JudgesInTraining() ? index / discriminator_batch : 0;
    return CriticBoundary(round) * discriminator_steps_per_round + step;
  }
  // The last generator round whose critic exists once the discriminator has
  // completed `boundary` rounds; -1: none.
  constexpr int64_t LastRoundJudgedBy(int64_t boundary) const {
    return boundary + lag - 1;
  }
  // Images per round that the discriminator trains on.
  constexpr int64_t TrainImagesPerRound() const {
    return discriminator_steps_per_round * discriminator_batch;
  }
  // True: the generator sends its step's images and takes an answer for each
  // micro-batch. False: it takes one critic per round and judges them itself.
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
  // True: each answer comes from the pass that trains on the images, so its
  // critic is the version at the start of that step. False: critics are
  // versions between rounds.
  constexpr bool JudgesInTraining() const {
    return feedback == FeedbackMode::kFused;
  }
  // Returns whether the generator sends its own step's images.
  constexpr bool SendsStepImages() const {
    return image_source == ImageSource::kReused || AnswersImages();
  }
  // The use of the step's images, if SendsStepImages().
  constexpr ImageUse StepImageUse() const {
    if (!AnswersImages()) return ImageUse::kTrain;
    return image_source == ImageSource::kReused ? ImageUse::kBoth
                                                : ImageUse::kFeedback;
  }
};

// A part of a range of images and the rank that owns it.
struct RankedRange {
  int rank = 0;
  IndexRange range = {};
  bool operator==(const RankedRange&) const = default;
};

// Splits `range` of a round's TRAIN space by the rank of `size` that trains on
// it: a rank has its slice of each batch of each step.
std::vector<RankedRange> SplitByTrainer(const Schedule& schedule,
                                        IndexRange range, int size);
// Splits `range` of the FEEDBACK space by the rank of `size` that judges it. A
// REUSED image is judged by the rank that trains on it, so it is sent to one
// rank only. FRESH images are split by slices of the generator's batches.
std::vector<RankedRange> SplitByJudge(const Schedule& schedule,
                                      IndexRange range, int size);
// Which of `size` generator ranks makes image `index` of the TRAIN space.
int MakerOf(const Schedule& schedule, int64_t index, int size);
// Images of a generator round that `rank` judges.
int64_t ImagesJudgedBy(const Schedule& schedule, int rank, int size);

// The discriminator rank whose critics a generator rank takes.
constexpr int CriticSource(int generator_rank, int num_generators,
                           int num_discriminators) {
  return static_cast<int>(int64_t{generator_rank} * num_discriminators /
                          num_generators);
}

// A generator rank's own images of a step, one range per forward pass.
std::vector<IndexRange> GeneratorPieces(const Schedule& schedule, int rank,
                                        int size);

// One operation of a generator round. Compute operations never wait; Send and
// Take wait, and change nothing until they succeed.
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

// One operation of a discriminator round.
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

// The operations of round `round` for one rank, in order.
std::vector<GeneratorOp> GeneratorRound(const Schedule& schedule, int64_t round,
                                        int rank, int size);
// BOUNDED takes a step's images before its first forward pass, so a waiting
// discriminator is always between versions and can answer feedback requests.
std::vector<DiscriminatorOp> DiscriminatorRound(const Schedule& schedule,
                                                int rank, int size);

}  // namespace gandem
