// SPDX-License-Identifier: Apache-2.0
#include "exchange/in_process_exchange.h"

#include <gtest/gtest.h>

#include "exchange/discriminator_end.h"
#include "tests/exchange/exchange_contract.h"
#include "tests/exchange/exchange_testing.h"
#include "tests/exchange/round_driver.h"
#include "tests/testing/delayed_exchange.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using gandem::testing::ExchangeContract;
using gandem::testing::StatusIs;

class InProcessPair : public gandem::testing::ExchangePair {
 public:
  explicit InProcessPair(const ExchangeOptions& options)
      : discriminator_(std::make_unique<DiscriminatorEnd>(options)),
        generator_(CreateInProcessGenerator(options, discriminator_.get())) {}
  GeneratorExchange& generator() override { return *generator_; }
  DiscriminatorExchange& discriminator() override { return *discriminator_; }

 private:
  const std::unique_ptr<DiscriminatorEnd> discriminator_;
  const std::unique_ptr<GeneratorExchange> generator_;
};

INSTANTIATE_TEST_SUITE_P(InProcess, ExchangeContract,
                         ::testing::Values(gandem::testing::ExchangeKind{
                             .name = "InProcess",
                             .make =
                                 [](const ExchangeOptions& options) {
                                   return std::make_unique<InProcessPair>(
                                       options);
                                 }}),
                         gandem::testing::KindName);

TEST(InProcessExchangeTest, BothEndsShareTheBytes) {
  const Schedule schedule = {.generator_batch = 4, .discriminator_batch = 4};
  InProcessPair pair(gandem::testing::OptionsFor(schedule));
  const ImageBatch batch = gandem::testing::Images(0, 0, 4);
  ASSERT_OK(pair.generator().PutImages(batch, absl::InfinitePast()));
  ASSERT_OK_AND_ASSIGN(const auto taken, pair.discriminator().TakeImages(
                                             0, 2, 2, absl::InfinitePast()));
  EXPECT_EQ(taken.pieces[0].pixels.data(), batch.pixels.data() + 2);
}

// Runs a role until it must wait; returns whether it made progress.
template <typename Driver>
bool TakeTurn(Driver& driver, absl::StatusOr<bool>& more) {
  bool moved = false;
  while (more.ok() && *more) {
    more = driver.Advance(absl::InfinitePast());
    moved = moved || more.ok();
  }
  if (absl::IsDeadlineExceeded(more.status())) more = true;
  return moved;
}

// Simulates the colocated worker: one thread runs the roles alternately.
void RunInTurns(const ExchangeOptions& options, uint64_t seed) {
  InProcessPair pair(options);
  const gandem::testing::DelayOptions delays = {.seed = seed};
  const auto generator_end =
      gandem::testing::DelayGenerator(&pair.generator(), delays);
  const auto discriminator_end =
      gandem::testing::DelayDiscriminator(&pair.discriminator(), delays);
  gandem::testing::GeneratorDriver generator(options, 7, generator_end.get());
  gandem::testing::DiscriminatorDriver discriminator(options, 7,
                                                     discriminator_end.get());
  absl::StatusOr<bool> generator_more = true;
  absl::StatusOr<bool> discriminator_more = true;
  int64_t idle_turns = 0;
  while (*generator_more || *discriminator_more) {
    const bool generator_moved = TakeTurn(generator, generator_more);
    const bool discriminator_moved =
        TakeTurn(discriminator, discriminator_more);
    ASSERT_OK(generator_more);
    ASSERT_OK(discriminator_more);
    idle_turns = generator_moved || discriminator_moved ? 0 : idle_turns + 1;
    // Refusals alone do not cause this many idle turns.
    ASSERT_LE(idle_turns, 100) << "deadlock at rounds " << generator.round()
                               << " and " << discriminator.round();
  }
}

TEST(InProcessExchangeTest, OneThreadCanRunBothRoles) {
  uint64_t seed = 0;
  for (int64_t lag = 0; lag < 5; ++lag) {
    for (auto source : {ImageSource::kReused, ImageSource::kFresh}) {
      for (auto feedback :
           {FeedbackMode::kSnapshot, FeedbackMode::kImageGradient}) {
        for (auto consistency : {Consistency::kExact, Consistency::kBounded}) {
          RunInTurns(
              gandem::testing::OptionsFor({.lag = lag,
                                           .discriminator_steps_per_round = 2,
                                           .consistency = consistency,
                                           .image_source = source,
                                           .feedback = feedback,
                                           .generator_batch = 4,
                                           .discriminator_batch = 2,
                                           .generator_micro_batch = 2}),
              ++seed);
        }
      }
    }
  }
}

TEST(InProcessExchangeTest, OneThreadCanRunBothRolesOfFused) {
  uint64_t seed = 0;
  for (int64_t micro_batch = 1; micro_batch <= 4; ++micro_batch) {
    RunInTurns(
        gandem::testing::OptionsFor({.discriminator_steps_per_round = 2,
                                     .feedback = FeedbackMode::kFused,
                                     .generator_batch = 4,
                                     .discriminator_batch = 2,
                                     .generator_micro_batch = micro_batch}),
        ++seed);
  }
}

TEST(InProcessExchangeTest, ClosingTheDiscriminatorReachesTheGenerator) {
  const Schedule schedule = {.generator_batch = 4, .discriminator_batch = 4};
  InProcessPair pair(gandem::testing::OptionsFor(schedule));
  pair.discriminator().Close(absl::AbortedError("first"));
  EXPECT_THAT(pair.generator().TakeCritic(0, absl::InfiniteFuture()),
              StatusIs(absl::StatusCode::kAborted));
}

}  // namespace
}  // namespace gandem
