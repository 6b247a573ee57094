// SPDX-License-Identifier: Apache-2.0
#include "worker/profile/stand_in_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::StatusIs;
using ::testing::HasSubstr;

constexpr TensorFormat kFormat = {.channels = 3, .height = 4, .width = 4};
const absl::Time kNow = absl::InfinitePast();

ExchangeOptions OptionsOf(FeedbackMode feedback,
                          ImageSource source = ImageSource::kReused) {
  return {.schedule = {.image_source = source,
                       .feedback = feedback,
                       .generator_batch = 6,
                       .discriminator_batch = 6,
                       .generator_micro_batch = 4,
                       .real_first = feedback != FeedbackMode::kFused},
          .image_format = kFormat,
          .feedback_format = kFormat};
}

std::vector<float> ValuesOf(const SharedBytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  Decode(bytes.span(), Encoding::kFloat32, values);
  return values;
}

ImageBatch Sent(ImageUse use, int64_t round, IndexRange range) {
  return {.use = use,
          .round = round,
          .first_index = range.first,
          .count = range.count,
          .generator_version = round,
          .format = kFormat,
          .pixels = SharedBytes(
              std::vector<std::byte>(range.count * kFormat.BytesPerImage()))};
}

TEST(StandInExchangeTest, ImagesAreAnsweredImmediatelyByTheScheduledCritic) {
  const ExchangeOptions options = OptionsOf(FeedbackMode::kImageGradient);
  const auto exchange = StandInForDiscriminators(options, SharedBytes());
  for (const IndexRange range :
       {IndexRange{.count = 4}, IndexRange{.first = 4, .count = 2}}) {
    ASSERT_OK(exchange->PutImages(Sent(ImageUse::kBoth, 9, range), kNow));
  }
  for (const int64_t first : {0, 4}) {
    ASSERT_OK_AND_ASSIGN(const FeedbackBatch answer,
                         exchange->TakeFeedback(9, first, kNow));
    EXPECT_EQ(answer.count, first == 0 ? 4 : 2);
    EXPECT_EQ(answer.critic_version, options.schedule.CriticVersion(9, first));
    EXPECT_EQ(answer.format, kFormat);
    const std::vector<float> values = ValuesOf(answer.gradient);
    EXPECT_EQ(std::ssize(values), answer.count * 3 * 4 * 4);
    for (const float value : values) {
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_LE(std::abs(value), 1e-3F);
    }
  }
  EXPECT_THAT(exchange->TakeFeedback(9, 0, kNow),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("from 0 on")));
  EXPECT_OK(exchange->Finish(kNow));
}

TEST(StandInExchangeTest, ImagesOutsideTheRunAreRefused) {
  const auto exchange = StandInForDiscriminators(
      OptionsOf(FeedbackMode::kSnapshot), SharedBytes());
  EXPECT_OK(exchange->PutImages(Sent(ImageUse::kTrain, 0, {.count = 6}), kNow));
  EXPECT_THAT(exchange->PutImages(Sent(ImageUse::kBoth, 0, {.count = 6}), kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
}

TEST(StandInExchangeTest, EveryVersionOfTheCriticIsAvailable) {
  const auto exchange =
      StandInForDiscriminators(OptionsOf(FeedbackMode::kSnapshot),
                               SharedBytes(std::vector<std::byte>(10)));
  ASSERT_OK_AND_ASSIGN(const CriticState critic,
                       exchange->TakeCritic(1234, kNow));
  EXPECT_EQ(critic.version, 1234);
  EXPECT_EQ(critic.bytes.size(), 10u);
}

TEST(StandInExchangeTest, ADiscriminatorReceivesImagesAndRequests) {
  const auto exchange = StandInForGenerators(OptionsOf(FeedbackMode::kFused));
  for (int64_t round = 0; round < 3; ++round) {
    ASSERT_OK_AND_ASSIGN(const TakenImages taken,
                         exchange->TakeImages(round, 2, 3, kNow));
    ASSERT_EQ(taken.pieces.size(), 1u);
    EXPECT_EQ(taken.end, WaitEnd::kDone);
    EXPECT_EQ(taken.pieces[0].use, ImageUse::kBoth);
    EXPECT_EQ(taken.pieces[0].range(), (IndexRange{.first = 2, .count = 3}));
    EXPECT_EQ(taken.pieces[0].round, round);
    for (const float value : ValuesOf(taken.pieces[0].pixels)) {
      EXPECT_LT(std::abs(value), 1);
    }
    // Requests have the generator's micro-batches and no images of a later
    // round.
    for (const IndexRange range :
         {IndexRange{.count = 4}, IndexRange{.first = 4, .count = 2}}) {
      ASSERT_OK_AND_ASSIGN(const ImageBatch request,
                           exchange->NextFeedbackRequest(round, kNow));
      EXPECT_EQ(request.round, round);
      EXPECT_EQ(request.range(), range);
    }
    EXPECT_THAT(exchange->NextFeedbackRequest(1000, kNow),
                StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
    exchange->FinishRound(round);
  }
  EXPECT_OK(exchange->WaitForGenerators(kNow));
}

TEST(StandInExchangeTest, NoFeedbackIsRequestedIfGeneratorsJudge) {
  const auto exchange = StandInForGenerators(
      OptionsOf(FeedbackMode::kSnapshot, ImageSource::kFresh));
  EXPECT_THAT(exchange->NextFeedbackRequest(5, kNow),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  EXPECT_OK(exchange->PublishCritic({.version = 1}, kNow));
  ASSERT_OK_AND_ASSIGN(const TakenImages taken,
                       exchange->TakeImages(0, 0, 6, kNow));
  EXPECT_EQ(taken.pieces[0].use, ImageUse::kTrain);
}

}  // namespace
}  // namespace gandem
