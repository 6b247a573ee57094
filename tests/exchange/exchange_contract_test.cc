// SPDX-License-Identifier: Apache-2.0
#include "tests/exchange/exchange_contract.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/exchange/round_driver.h"
#include "tests/testing/delayed_exchange.h"
#include "tests/testing/soon.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {

std::string KindName(const ::testing::TestParamInfo<ExchangeKind>& info) {
  return info.param.name;
}

namespace {

using ::testing::HasSubstr;
constexpr auto kDeadline = absl::StatusCode::kDeadlineExceeded;
const absl::Time kPast = absl::InfinitePast();

Schedule FourImages(int64_t lag) {
  return {.lag = lag, .generator_batch = 4, .discriminator_batch = 4};
}

Schedule WithFeedback(int64_t lag) {
  Schedule schedule = FourImages(lag);
  schedule.feedback = FeedbackMode::kImageGradient;
  return schedule;
}

Schedule Bounded(int64_t lag) {
  Schedule schedule = FourImages(lag);
  schedule.consistency = Consistency::kBounded;
  return schedule;
}

TEST_P(ExchangeContract, ImagesArriveUnchangedAndInTheRequestedPieces) {
  Connect(OptionsFor(FourImages(1)));
  ASSERT_OK(generator().PutImages(Images(0, 0, 3), Soon()));
  ASSERT_OK(generator().PutImages(Images(0, 3, 1), Soon()));
  ASSERT_OK_AND_ASSIGN(const auto first,
                       discriminator().TakeImages(0, 0, 2, Soon()));
  ASSERT_OK_AND_ASSIGN(const auto second,
                       discriminator().TakeImages(0, 2, 2, Soon()));
  ASSERT_EQ(first.pieces.size(), 1u);
  ASSERT_EQ(second.pieces.size(), 2u);
  EXPECT_EQ(first.pieces[0].generator_version, 0);
  EXPECT_EQ(first.pieces[0].format, PixelFormat());
  EXPECT_EQ(Places(second.pieces),
            (std::vector<std::pair<int64_t, int64_t>>{{0, 2}, {0, 3}}));
}

TEST_P(ExchangeContract, CallsWithoutResultReturnAtTheirDeadline) {
  Connect(OptionsFor(WithFeedback(1)));
  EXPECT_THAT(discriminator().TakeImages(0, 0, 4, kPast), StatusIs(kDeadline));
  EXPECT_THAT(discriminator().NextFeedbackRequest(0, kPast),
              StatusIs(kDeadline));
  EXPECT_THAT(discriminator().WaitForGenerators(kPast), StatusIs(kDeadline));
  EXPECT_THAT(generator().TakeCritic(0, kPast), StatusIs(kDeadline));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4, ImageUse::kBoth), Soon()));
  EXPECT_THAT(generator().TakeFeedback(0, 0, kPast), StatusIs(kDeadline));
  EXPECT_OK(discriminator().NextFeedbackRequest(0, Soon()));
  EXPECT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
}

TEST_P(ExchangeContract, RepeatedImagesChangeNothing) {
  Connect(OptionsFor(FourImages(1)));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  discriminator().FinishRound(0);
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(generator().PutImages(Images(1, 0, 4), Soon()));
  ASSERT_OK(generator().Finish(Soon()));
  EXPECT_EQ(discriminator().stats().cache_images, 4);
}

TEST_P(ExchangeContract, FullCacheMakesTheGeneratorWait) {
  ExchangeOptions options = OptionsFor(FourImages(2));
  options.cache_rounds = 2;
  Connect(options);
  // The third batch does not arrive before there is space, wherever it waits.
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(generator().PutImages(Images(1, 0, 4), Soon()));
  const absl::Status third = generator().PutImages(Images(2, 0, 4), kPast);
  if (third.ok()) {
    EXPECT_THAT(generator().Finish(kPast), StatusIs(kDeadline));
  } else {
    EXPECT_THAT(third, StatusIs(kDeadline));
  }
  ASSERT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
  if (!third.ok()) {
    ASSERT_OK(generator().PutImages(Images(2, 0, 4), Soon()));
  }
  ASSERT_OK(generator().Finish(Soon()));
  EXPECT_EQ(discriminator().stats().cache_images, 8);
  EXPECT_EQ(discriminator().stats().cache_capacity, 8);
}

TEST_P(ExchangeContract, TakingImagesWakesAWaitingGenerator) {
  ExchangeOptions options = OptionsFor(FourImages(1));
  options.cache_rounds = 1;
  Connect(options);
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  absl::Status put;
  std::thread thread([&] {
    put = generator().PutImages(Images(1, 0, 4), Soon());
    if (put.ok()) put = generator().Finish(Soon());
  });
  EXPECT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
  thread.join();
  EXPECT_OK(put);
  EXPECT_OK(discriminator().TakeImages(1, 0, 4, Soon()));
}

TEST_P(ExchangeContract, InvalidBatchesAreRefusedAndDiscarded) {
  Connect(OptionsFor(FourImages(1)));
  ImageBatch batch = Images(0, 0, 4);
  batch.first_index = 1;
  EXPECT_THAT(generator().PutImages(batch, Soon()),
              StatusIs(kInvalid, HasSubstr("not within [0, 4)")));
  batch = Images(0, 0, 4);
  batch.format.width = 2;
  EXPECT_THAT(generator().PutImages(batch, Soon()), StatusIs(kInvalid));
  batch = Images(0, 0, 4);
  batch.pixels = batch.pixels.Slice(0, 3);
  EXPECT_THAT(generator().PutImages(batch, Soon()), StatusIs(kInvalid));
  batch = Images(0, 0, 4);
  batch.generator_version = 1;
  EXPECT_THAT(generator().PutImages(batch, Soon()), StatusIs(kInvalid));
  EXPECT_THAT(
      generator().PutImages(Images(0, 0, 4, ImageUse::kFeedback), Soon()),
      StatusIs(kInvalid));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  EXPECT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
}

TEST_P(ExchangeContract, FeedbackIsReturned) {
  const Schedule schedule = WithFeedback(1);
  Connect(OptionsFor(schedule));
  ASSERT_OK(generator().PutImages(Images(0, 0, 2, ImageUse::kBoth), Soon()));
  ASSERT_OK(generator().PutImages(Images(0, 2, 2, ImageUse::kBoth), Soon()));
  for (int64_t first : {0, 2}) {
    ASSERT_OK_AND_ASSIGN(const ImageBatch request,
                         discriminator().NextFeedbackRequest(0, Soon()));
    EXPECT_EQ(request.first_index, first);
    EXPECT_EQ(Places({request}).back().second, first + 1);
  }
  // Answers may come in any order.
  ASSERT_OK(discriminator().AnswerFeedback(Feedback(schedule, 0, 2, 2)));
  ASSERT_OK(discriminator().AnswerFeedback(Feedback(schedule, 0, 0, 2)));
  for (int64_t first : {0, 2}) {
    ASSERT_OK_AND_ASSIGN(const FeedbackBatch feedback,
                         generator().TakeFeedback(0, first, Soon()));
    EXPECT_EQ(feedback.critic_version, 0);
    EXPECT_EQ(feedback.loss, 0.5);
    EXPECT_EQ(feedback.gradient.span()[2], Pixel(0, first + 1));
  }
  EXPECT_THAT(generator().TakeFeedback(0, 2, Soon()), StatusIs(kPrecondition));
}

TEST_P(ExchangeContract, FeedbackRequestsWaitForTheirRound) {
  const Schedule schedule = WithFeedback(2);
  Connect(OptionsFor(schedule));
  ASSERT_OK(generator().PutImages(Images(1, 0, 4, ImageUse::kBoth), Soon()));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4, ImageUse::kBoth), Soon()));
  ASSERT_OK_AND_ASSIGN(const ImageBatch request,
                       discriminator().NextFeedbackRequest(0, Soon()));
  EXPECT_EQ(request.round, 0);
  EXPECT_THAT(discriminator().NextFeedbackRequest(0, kPast),
              StatusIs(kDeadline));
  EXPECT_OK(discriminator().NextFeedbackRequest(1, Soon()));
}

TEST_P(ExchangeContract, OnlyOpenRequestsCanBeAnswered) {
  const Schedule schedule = WithFeedback(1);
  Connect(OptionsFor(schedule));
  EXPECT_THAT(discriminator().AnswerFeedback(Feedback(schedule, 0, 0, 4)),
              StatusIs(kPrecondition));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4, ImageUse::kBoth), Soon()));
  ASSERT_OK(discriminator().NextFeedbackRequest(0, Soon()));
  FeedbackBatch wrong = Feedback(schedule, 0, 0, 4);
  wrong.critic_version = 1;
  EXPECT_THAT(discriminator().AnswerFeedback(wrong), StatusIs(kInvalid));
  ASSERT_OK(discriminator().AnswerFeedback(Feedback(schedule, 0, 0, 4)));
  EXPECT_THAT(discriminator().AnswerFeedback(Feedback(schedule, 0, 0, 4)),
              StatusIs(kPrecondition));
}

TEST_P(ExchangeContract, ACriticIsKeptUntilALaterOneIsTaken) {
  Connect(OptionsFor(FourImages(2)));
  ASSERT_OK(discriminator().PublishCritic(Critic(0), Soon()));
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK_AND_ASSIGN(const CriticState critic,
                         generator().TakeCritic(0, Soon()));
    EXPECT_EQ(critic.version, 0);
    EXPECT_EQ(critic.bytes.size(), 3u);
  }
  ASSERT_OK(discriminator().PublishCritic(Critic(1, 1000), Soon()));
  ASSERT_OK_AND_ASSIGN(const CriticState critic,
                       generator().TakeCritic(1, Soon()));
  EXPECT_EQ(critic.bytes.size(), 1000u);
  EXPECT_EQ(critic.bytes.span()[999], std::byte{1});
  EXPECT_THAT(generator().TakeCritic(0, Soon()), StatusIs(kPrecondition));
}

TEST_P(ExchangeContract, CriticVersionsIncrease) {
  Connect(OptionsFor(FourImages(1)));
  ASSERT_OK(discriminator().PublishCritic(Critic(2), Soon()));
  EXPECT_THAT(discriminator().PublishCritic(Critic(2), Soon()),
              StatusIs(kInvalid));
  EXPECT_THAT(discriminator().PublishCritic(Critic(1), Soon()),
              StatusIs(kInvalid));
}

TEST_P(ExchangeContract, TheGeneratorHoldsLagCriticsAndTheSlotOneMore) {
  Connect(OptionsFor(FourImages(2)));
  ASSERT_OK(discriminator().PublishCritic(Critic(0), Soon()));
  ASSERT_OK(discriminator().PublishCritic(Critic(1), Soon()));
  ASSERT_OK(discriminator().PublishCritic(Critic(2), Soon()));
  EXPECT_THAT(discriminator().PublishCritic(Critic(3), kPast),
              StatusIs(kDeadline));
  ASSERT_OK(generator().TakeCritic(0, Soon()));
  EXPECT_OK(discriminator().PublishCritic(Critic(3), Soon()));
  for (int64_t version : {1, 2, 3}) {
    EXPECT_OK(generator().TakeCritic(version, Soon()));
  }
}

TEST_P(ExchangeContract, AnAwaitedCriticReplacesOlderOnes) {
  Connect(OptionsFor(FourImages(0)));
  ASSERT_OK(discriminator().PublishCritic(Critic(0), Soon()));
  ASSERT_OK(discriminator().PublishCritic(Critic(1), Soon()));
  ASSERT_OK_AND_ASSIGN(const CriticState critic,
                       generator().TakeCritic(1, Soon()));
  EXPECT_EQ(critic.version, 1);
}

TEST_P(ExchangeContract, BoundedPublishingNeverWaits) {
  Connect(OptionsFor(Bounded(1)));
  for (int64_t version = 0; version < 9; ++version) {
    ASSERT_OK(discriminator().PublishCritic(Critic(version), kPast));
  }
  ASSERT_OK_AND_ASSIGN(const CriticState critic,
                       generator().TakeCritic(8, Soon()));
  EXPECT_EQ(critic.version, 8);
  ASSERT_OK_AND_ASSIGN(const CriticState again,
                       generator().TakeCritic(3, Soon()));
  EXPECT_EQ(again.version, 8);
}

TEST_P(ExchangeContract, BoundedReplaysImagesWhileTheGeneratorIsSilent) {
  ExchangeOptions options = OptionsFor(Bounded(2));
  options.max_samples_per_image = 2;
  Connect(options);
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  EXPECT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
  EXPECT_OK(discriminator().TakeImages(1, 0, 4, Soon()));
  EXPECT_THAT(discriminator().TakeImages(1, 0, 4, kPast), StatusIs(kDeadline));
  EXPECT_EQ(discriminator().stats().images_replayed, 4);
  // Images of round 1 are too old now, and the generator is not blocked.
  discriminator().FinishRound(3);
  ASSERT_OK(generator().PutImages(Images(1, 0, 4), Soon()));
  ASSERT_OK(generator().PutImages(Images(3, 0, 4), Soon()));
  ASSERT_OK_AND_ASSIGN(const auto taken,
                       discriminator().TakeImages(4, 0, 4, Soon()));
  EXPECT_EQ(Places(taken.pieces)[0].first, 3);
  EXPECT_EQ(discriminator().stats().images_dropped, 4);
}

TEST_P(ExchangeContract, FinishReachesTheDiscriminator) {
  Connect(OptionsFor(FourImages(1)));
  ASSERT_OK(generator().PutImages(Images(0, 0, 4), Soon()));
  ASSERT_OK(generator().Finish(Soon()));
  ASSERT_OK(generator().Finish(Soon()));
  EXPECT_OK(discriminator().WaitForGenerators(Soon()));
  EXPECT_OK(discriminator().TakeImages(0, 0, 4, Soon()));
  for (int64_t version = 0; version < 5; ++version) {
    EXPECT_OK(discriminator().PublishCritic(Critic(version), Soon()));
  }
}

TEST_P(ExchangeContract, CloseWakesTheGenerator) {
  const absl::Status reason = absl::CancelledError("the test ends it");
  ExchangeOptions options = OptionsFor(WithFeedback(1));
  options.cache_rounds = 1;
  for (int call = 0; call < 3; ++call) {
    Connect(options);
    ASSERT_OK(generator().PutImages(Images(0, 0, 4, ImageUse::kBoth), Soon()));
    absl::Status status;
    std::thread thread([&] {
      if (call == 0) status = generator().TakeFeedback(0, 0, Soon()).status();
      if (call == 1) status = generator().TakeCritic(7, Soon()).status();
      // Also closes while the generator waits for space.
      while (call == 2 && status.ok()) {
        status =
            generator().PutImages(Images(1, 0, 4, ImageUse::kBoth), Soon());
        if (status.ok()) status = generator().Finish(Soon());
      }
    });
    generator().Close(reason);
    thread.join();
    EXPECT_EQ(status, reason) << call;
    generator().Close(absl::InternalError("a later one"));
    EXPECT_EQ(generator().Finish(Soon()), reason) << call;
    EXPECT_EQ(generator().TakeFeedback(0, 0, Soon()).status(), reason);
  }
}

TEST_P(ExchangeContract, CloseWakesTheDiscriminator) {
  const absl::Status reason = absl::CancelledError("the test ends it");
  for (int call = 0; call < 4; ++call) {
    Connect(OptionsFor(FourImages(1)));
    ASSERT_OK(discriminator().PublishCritic(Critic(0), Soon()));
    ASSERT_OK(discriminator().PublishCritic(Critic(1), Soon()));
    absl::Status status;
    std::thread thread([&] {
      DiscriminatorExchange& end = discriminator();
      if (call == 0) status = end.TakeImages(0, 0, 4, Soon()).status();
      if (call == 1) status = end.NextFeedbackRequest(0, Soon()).status();
      if (call == 2) status = end.PublishCritic(Critic(2), Soon());
      if (call == 3) status = end.WaitForGenerators(Soon()).status();
    });
    discriminator().Close(reason);
    thread.join();
    EXPECT_EQ(status, reason) << call;
    discriminator().Close(absl::InternalError("a later one"));
    EXPECT_EQ(discriminator().TakeImages(0, 0, 4, Soon()).status(), reason);
  }
}

struct Grid {
  int64_t lag;
  int64_t steps;
  ImageSource source;
  FeedbackMode feedback;
  Consistency consistency;
  int64_t pieces;
};

std::vector<Grid> WholeGrid() {
  std::vector<Grid> grid;
  for (int64_t lag = 0; lag < 4; ++lag)
    for (int64_t steps = 1; steps < 3; ++steps)
      for (auto source : {ImageSource::kReused, ImageSource::kFresh})
        for (auto feedback :
             {FeedbackMode::kSnapshot, FeedbackMode::kImageGradient})
          for (auto consistency : {Consistency::kExact, Consistency::kBounded})
            for (int64_t pieces = 1; pieces < 3; ++pieces)
              grid.push_back(
                  {lag, steps, source, feedback, consistency, pieces});
  for (int64_t steps = 1; steps < 3; ++steps)
    for (int64_t pieces = 1; pieces < 3; ++pieces)
      grid.push_back({1, steps, ImageSource::kReused, FeedbackMode::kFused,
                      Consistency::kExact, pieces});
  return grid;
}

ExchangeOptions GridOptions(const Grid& cell) {
  const Schedule schedule = {
      .lag = cell.lag,
      .discriminator_steps_per_round = cell.steps,
      .consistency = cell.consistency,
      .image_source = cell.source,
      .feedback = cell.feedback,
      .generator_batch = 6,
      .discriminator_batch = 6 / cell.steps,
      .generator_micro_batch = 6 / cell.pieces,
      // Differs from the generator's micro-batch on purpose.
      .discriminator_micro_batch = cell.pieces == 1 ? 0 : 2};
  ExchangeOptions options = OptionsFor(schedule);
  options.cache_rounds = std::max<int64_t>(1, cell.lag);
  options.max_samples_per_image = 2;
  return options;
}

std::string Describe(const Grid& cell) {
  return absl::StrCat("lag ", cell.lag, " R ", cell.steps, " source ",
                      static_cast<int>(cell.source), " feedback ",
                      static_cast<int>(cell.feedback), " consistency ",
                      static_cast<int>(cell.consistency), " pieces ",
                      cell.pieces);
}

TEST_P(ExchangeContract, WholeRunsFinishWithTheSmallestCache) {
  for (const Grid& cell : WholeGrid()) {
    SCOPED_TRACE(Describe(cell));
    ExchangeOptions options = GridOptions(cell);
    options.first_round = cell.lag;  // resumed with older critics
    const int64_t last_round = options.first_round + cell.lag + 4;
    Connect(options);
    GeneratorDriver generator_driver(options, last_round, &generator());
    DiscriminatorDriver discriminator_driver(options, last_round,
                                             &discriminator());
    // With a lost wake-up this test would take minutes.
    ASSERT_OK(
        RunBoth(generator_driver, discriminator_driver, absl::Seconds(1)));
    EXPECT_EQ(discriminator_driver.images_trained(), (cell.lag + 5) * 6);
    EXPECT_LE(discriminator().stats().cache_images,
              discriminator().stats().cache_capacity);
  }
}

TEST_P(ExchangeContract, WholeRunsFinishDespiteDelays) {
  uint64_t seed = 0;
  for (const Grid& cell : WholeGrid()) {
    SCOPED_TRACE(Describe(cell));
    const ExchangeOptions options = GridOptions(cell);
    const int64_t last_round = cell.lag + 3;
    Connect(options);
    const auto slow_generator = DelayGenerator(
        &generator(),
        {.seed = ++seed, .max_refusals = 2, .max_wait = absl::Milliseconds(1)});
    const auto slow_discriminator = DelayDiscriminator(
        &discriminator(),
        {.seed = ~seed, .max_refusals = 2, .max_wait = absl::Milliseconds(1)});
    GeneratorDriver generator_driver(options, last_round, slow_generator.get());
    DiscriminatorDriver discriminator_driver(options, last_round,
                                             slow_discriminator.get());
    ASSERT_OK(
        RunBoth(generator_driver, discriminator_driver, absl::Seconds(1)));
    EXPECT_EQ(discriminator_driver.images_trained(), (cell.lag + 4) * 6);
  }
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ExchangeContract);

}  // namespace gandem::testing
