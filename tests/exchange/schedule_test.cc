// SPDX-License-Identifier: Apache-2.0
#include "exchange/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;

std::string Ranges(const std::vector<IndexRange>& ranges) {
  return absl::StrJoin(ranges, " ", [](std::string* out, const IndexRange& r) {
    absl::StrAppend(out, r.first, "+", r.count);
  });
}

// Returns one word per operation: "forward 0+2", "take_critic v3".
std::vector<std::string> Words(const std::vector<GeneratorOp>& ops) {
  const char* const names[] = {"make",      "send",        "forward",
                               "send_step", "take_critic", "take_feedback",
                               "backward",  "update"};
  std::vector<std::string> words;
  for (const GeneratorOp& op : ops) {
    std::string word = names[static_cast<int>(op.kind)];
    if (op.range.count > 0) {
      absl::StrAppend(&word, " ", op.range.first, "+", op.range.count);
    }
    if (op.critic_version > 0) absl::StrAppend(&word, " v", op.critic_version);
    words.push_back(word);
  }
  return words;
}

std::vector<std::string> Words(const std::vector<DiscriminatorOp>& ops) {
  const char* const names[] = {"real", "take", "generated", "update"};
  std::vector<std::string> words;
  for (const DiscriminatorOp& op : ops) {
    std::string word = names[static_cast<int>(op.kind)];
    if (op.range.count > 0) {
      absl::StrAppend(&word, " ", op.range.first, "+", op.range.count);
    }
    words.push_back(word);
  }
  return words;
}

TEST(ScheduleTest, WithLagZeroTheRolesAlternate) {
  constexpr Schedule schedule{.lag = 0, .discriminator_steps_per_round = 2};
  for (int64_t t = 0; t < 4; ++t) {
    // Images are judged after the round's own discriminator steps.
    EXPECT_EQ(schedule.CriticVersion(t), 2 * t + 2);
    EXPECT_EQ(schedule.LastRoundJudgedBy(t + 1), t);
  }
}

TEST(ScheduleTest, WithLagOneBothFleetsWork) {
  constexpr Schedule schedule{.lag = 1, .discriminator_steps_per_round = 2};
  EXPECT_EQ(schedule.CriticVersion(0), 0);
  EXPECT_EQ(schedule.CriticVersion(5), 10);
  EXPECT_EQ(schedule.LastRoundJudgedBy(5), 5);
}

TEST(ScheduleTest, TheFirstRoundsOfALagShareTheFirstCritic) {
  constexpr Schedule schedule{.lag = 3};
  for (int64_t t = 0; t < 3; ++t) EXPECT_EQ(schedule.CriticBoundary(t), 0);
  EXPECT_EQ(schedule.CriticBoundary(3), 1);
  EXPECT_EQ(schedule.LastRoundJudgedBy(0), 2);
}

TEST(ScheduleTest, EveryRoundIsJudgedByItsBoundary) {
  for (int64_t lag = 0; lag < 6; ++lag) {
    const Schedule schedule{.lag = lag};
    for (int64_t t = 0; t < 20; ++t) {
      const int64_t boundary = schedule.CriticBoundary(t);
      EXPECT_GE(schedule.LastRoundJudgedBy(boundary), t);
      if (boundary > 0) {
        EXPECT_LT(schedule.LastRoundJudgedBy(boundary - 1), t);
      }
    }
  }
}

TEST(ScheduleTest, RankSlicesCoverTheRangeAndDifferByOne) {
  for (int64_t total : {0, 1, 7, 64}) {
    for (int size = 1; size <= 9; ++size) {
      int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const IndexRange slice = RankSlice(total, rank, size);
        EXPECT_EQ(slice.first, next);
        EXPECT_GE(slice.count, total / size);
        EXPECT_LE(slice.count, total / size + 1);
        next = slice.end();
      }
      EXPECT_EQ(next, total);
    }
  }
}

TEST(ScheduleTest, MicroBatchesCutInOrder) {
  EXPECT_EQ(Ranges(MicroBatches({.first = 3, .count = 7}, 3)), "3+3 6+3 9+1");
  EXPECT_EQ(Ranges(MicroBatches({.first = 3, .count = 7}, 0)), "3+7");
  EXPECT_EQ(Ranges(MicroBatches({.first = 3, .count = 0}, 2)), "");
}

constexpr Schedule kReused{.lag = 1,
                           .generator_batch = 4,
                           .discriminator_batch = 4,
                           .generator_micro_batch = 2,
                           .discriminator_micro_batch = 3};

TEST(ScheduleTest, SnapshotRoundsHaveTheDocumentedOperations) {
  EXPECT_THAT(Words(GeneratorRound(kReused, 3, 0, 1)),
              ElementsAre("forward 0+2", "send_step 0+2", "forward 2+2",
                          "send_step 2+2", "take_critic v3", "backward 0+2",
                          "backward 2+2", "update"));
}

TEST(ScheduleTest, ImageGradientRoundsHaveTheDocumentedOperations) {
  Schedule schedule = kReused;
  schedule.feedback = FeedbackMode::kImageGradient;
  EXPECT_THAT(
      Words(GeneratorRound(schedule, 3, 0, 1)),
      ElementsAre("forward 0+2", "send_step 0+2", "forward 2+2",
                  "send_step 2+2", "take_feedback 0+2 v3", "backward 0+2",
                  "take_feedback 2+2 v3", "backward 2+2", "update"));
}

TEST(ScheduleTest, FusedJudgesWithTheVersionThatTrains) {
  Schedule schedule = kReused;
  schedule.feedback = FeedbackMode::kFused;
  schedule.generator_batch = 8;
  schedule.discriminator_steps_per_round = 2;
  schedule.generator_micro_batch = 3;
  EXPECT_EQ(schedule.StepImageUse(), ImageUse::kBoth);
  // Version 6 trains on images 0 to 3, version 7 on the others. One request
  // contains both and has the version of its first image.
  EXPECT_EQ(schedule.CriticVersion(3, 3), 6);
  EXPECT_EQ(schedule.CriticVersion(3, 4), 7);
  EXPECT_THAT(Words(GeneratorRound(schedule, 3, 0, 1)),
              ElementsAre("forward 0+3", "send_step 0+3", "forward 3+3",
                          "send_step 3+3", "forward 6+2", "send_step 6+2",
                          "take_feedback 0+3 v6", "backward 0+3",
                          "take_feedback 3+3 v6", "backward 3+3",
                          "take_feedback 6+2 v7", "backward 6+2", "update"));
}

// Waiting generators receive their answers before the training on real images.
TEST(ScheduleTest, GeneratedImagesMayComeFirst) {
  Schedule schedule = kReused;
  schedule.feedback = FeedbackMode::kFused;
  schedule.real_first = false;
  EXPECT_THAT(Words(DiscriminatorRound(schedule, 0, 1)),
              ElementsAre("take 0+3", "generated 0+3", "take 3+1",
                          "generated 3+1", "real 0+3", "real 3+1", "update"));
}

TEST(ScheduleTest, FreshImagesComeBeforeTheStep) {
  Schedule schedule = kReused;
  schedule.image_source = ImageSource::kFresh;
  schedule.discriminator_steps_per_round = 2;
  schedule.generator_micro_batch = 4;
  EXPECT_THAT(
      Words(GeneratorRound(schedule, 0, 0, 1)),
      ElementsAre("make 0+4", "send 0+4", "make 4+4", "send 4+4", "forward 0+4",
                  "take_critic", "backward 0+4", "update"));
}

TEST(ScheduleTest, DiscriminatorRoundsHaveTheDocumentedOperations) {
  Schedule schedule = kReused;
  schedule.discriminator_steps_per_round = 2;
  EXPECT_THAT(Words(DiscriminatorRound(schedule, 0, 1)),
              ElementsAre("real 0+3", "real 3+1", "take 0+3", "generated 0+3",
                          "take 3+1", "generated 3+1", "update",  //
                          "real 0+3", "real 3+1", "take 4+3", "generated 4+3",
                          "take 7+1", "generated 7+1", "update"));
  // With BOUNDED a version is complete while the discriminator waits.
  schedule.consistency = Consistency::kBounded;
  schedule.discriminator_steps_per_round = 1;
  EXPECT_THAT(Words(DiscriminatorRound(schedule, 0, 1)),
              ElementsAre("take 0+3", "take 3+1", "real 0+3", "real 3+1",
                          "generated 0+3", "generated 3+1", "update"));
}

TEST(ScheduleTest, RanksTakeTheirSliceOfEachStep) {
  Schedule schedule = kReused;
  schedule.discriminator_steps_per_round = 2;
  EXPECT_THAT(Words(DiscriminatorRound(schedule, 1, 2)),
              ElementsAre("real 2+2", "take 2+2", "generated 2+2", "update",
                          "real 2+2", "take 6+2", "generated 6+2", "update"));
}

// A step has two batches of 7 images; three ranks have 3, 2 and 2 of each.
TEST(ScheduleTest, ARankHasItsSliceOfEachBatchOfAStep) {
  Schedule schedule = {.lag = 1,
                       .feedback = FeedbackMode::kImageGradient,
                       .generator_batch = 14,
                       .discriminator_batch = 14,
                       .generator_batches = 2,
                       .discriminator_batches = 2,
                       .discriminator_micro_batch = 2};
  EXPECT_EQ(Ranges(RankSlices(14, 2, 0, 3)), "0+3 7+3");
  EXPECT_EQ(Ranges(RankSlices(14, 2, 2, 3)), "5+2 12+2");
  EXPECT_EQ(RankImages(14, 2, 0, 3), 6);
  EXPECT_EQ(RankImages(14, 2, 2, 3), 4);
  EXPECT_EQ(PlaceInSlices(RankSlices(14, 2, 0, 3), 2), 2);
  EXPECT_EQ(PlaceInSlices(RankSlices(14, 2, 0, 3), 8), 4);
  EXPECT_THAT(Words(GeneratorRound(schedule, 0, 1, 3)),
              ElementsAre("forward 3+2", "send_step 3+2", "forward 10+2",
                          "send_step 10+2", "take_feedback 3+2", "backward 3+2",
                          "take_feedback 10+2", "backward 10+2", "update"));
  // No pass mixes images of two batches, even with one worker.
  EXPECT_THAT(
      Words(DiscriminatorRound(schedule, 0, 3)),
      ElementsAre("real 0+2", "real 2+1", "real 7+2", "real 9+1", "take 0+2",
                  "generated 0+2", "take 2+1", "generated 2+1", "take 7+2",
                  "generated 7+2", "take 9+1", "generated 9+1", "update"));
  EXPECT_EQ(Ranges(GeneratorPieces(schedule, 0, 1)), "0+7 7+7");
  using Parts = std::vector<RankedRange>;
  const Parts parts = {{0, {2, 1}}, {1, {3, 2}}, {2, {5, 2}}, {0, {7, 2}}};
  EXPECT_EQ(SplitByTrainer(schedule, {.first = 2, .count = 7}, 3), parts);
  EXPECT_EQ(SplitByJudge(schedule, {.first = 2, .count = 7}, 3), parts);
  EXPECT_EQ(ImagesJudgedBy(schedule, 0, 3), 6);
  EXPECT_EQ(ImagesJudgedBy(schedule, 2, 3), 4);
  // FRESH images are generated in the trainer's slices and judged in slices of
  // the generator's batches.
  schedule.image_source = ImageSource::kFresh;
  schedule.generator_batch = 4;
  EXPECT_EQ(SplitByJudge(schedule, {.first = 1, .count = 3}, 2),
            (Parts{{1, {1, 1}}, {0, {2, 1}}, {1, {3, 1}}}));
  EXPECT_EQ(ImagesJudgedBy(schedule, 1, 2), 2);
  EXPECT_EQ(Ranges(GeneratorPieces(schedule, 1, 2)), "1+1 3+1");
}

TEST(ScheduleTest, ImagesGoToTheRankThatUsesThem) {
  Schedule schedule = {.discriminator_steps_per_round = 2,
                       .generator_batch = 14,
                       .discriminator_batch = 7};
  using Parts = std::vector<RankedRange>;
  // Three ranks own 3, 2 and 2 images of each step.
  EXPECT_EQ(SplitByTrainer(schedule, {.first = 2, .count = 7}, 3),
            (Parts{{0, {2, 1}}, {1, {3, 2}}, {2, {5, 2}}, {0, {7, 2}}}));
  EXPECT_EQ(SplitByTrainer(schedule, {.first = 12, .count = 2}, 3),
            (Parts{{2, {12, 2}}}));
  // REUSED images are judged by the rank that trains on them.
  EXPECT_EQ(SplitByJudge(schedule, {.first = 2, .count = 7}, 3),
            SplitByTrainer(schedule, {.first = 2, .count = 7}, 3));
  EXPECT_EQ(ImagesJudgedBy(schedule, 0, 3), 6);
  EXPECT_EQ(ImagesJudgedBy(schedule, 2, 3), 4);
  // FRESH images are judged in slices of the generator's batch: 5, 5 and 4.
  schedule.image_source = ImageSource::kFresh;
  EXPECT_EQ(SplitByJudge(schedule, {.first = 2, .count = 9}, 3),
            (Parts{{0, {2, 3}}, {1, {5, 5}}, {2, {10, 1}}}));
  EXPECT_EQ(ImagesJudgedBy(schedule, 2, 3), 4);
}

// Compares with the generators' operations, for one and two batches.
TEST(ScheduleTest, EachImageHasOneGenerator) {
  for (const auto& [source, batches] :
       {std::pair(ImageSource::kReused, 1), std::pair(ImageSource::kFresh, 1),
        std::pair(ImageSource::kReused, 2),
        std::pair(ImageSource::kFresh, 2)}) {
    const Schedule schedule = {.discriminator_steps_per_round = 2,
                               .image_source = source,
                               .generator_batch = batches * 14,
                               .discriminator_batch = batches * 7,
                               .generator_batches = batches,
                               .discriminator_batches = batches};
    for (int rank = 0; rank < 3; ++rank) {
      int64_t images = 0;
      for (const GeneratorOp& op : GeneratorRound(schedule, 5, rank, 3)) {
        const bool sends = source == ImageSource::kFresh
                               ? op.kind == GeneratorOp::Kind::kSendImages
                               : op.kind == GeneratorOp::Kind::kSendForward;
        if (!sends) continue;
        for (int64_t i = op.range.first; i < op.range.end(); ++i, ++images) {
          EXPECT_EQ(MakerOf(schedule, i, 3), rank) << i;
        }
      }
      EXPECT_GT(images, 0);
    }
  }
}

TEST(ScheduleTest, EachGeneratorTakesItsCriticsFromOneDiscriminator) {
  const auto sources = [](int generators, int discriminators) {
    std::vector<int> result;
    for (int g = 0; g < generators; ++g) {
      result.push_back(CriticSource(g, generators, discriminators));
    }
    return result;
  };
  EXPECT_THAT(sources(4, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(sources(2, 3), ElementsAre(0, 1));
  EXPECT_THAT(sources(3, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(sources(1, 5), ElementsAre(0));
}

}  // namespace
}  // namespace gandem
