// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/search/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "scaling_manager/planner/search/search_choice.h"
#include "tests/scaling_manager/planner/search/fake_models.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::FakeImagesNeeded;
using ::gandem::testing::FakeMachines;
using ::gandem::testing::FakeModels;
using ::gandem::testing::FakeNumbers;
using ::gandem::testing::FakePrediction;
using ::gandem::testing::FakeProfile;
using ::gandem::testing::FakeRecipe;
using ::gandem::testing::FakeRequest;
using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Candidate& First(const Plan& plan) { return plan.candidates(0); }

bool IsColocatedFirst(const Plan& plan) {
  return First(plan).placement().workers(0).role() == COLOCATED;
}

// Returns the most useful images per second among all shapes, listed by hand.
double BestByHand(const FakeNumbers& numbers, const Machines& machines) {
  double best = 0;
  SearchChoice choice;
  const auto consider = [&] {
    for (const auto feedback :
         {ScheduleConfig::SNAPSHOT, ScheduleConfig::IMAGE_GRADIENT,
          ScheduleConfig::FUSED}) {
      for (int64_t lag = 0; lag <= 4; ++lag) {
        choice.feedback = feedback;
        choice.lag = lag;
        const RunConfig config = ConfigOf(FakeRecipe(), choice);
        const Placement placement = PlaceWorkers(machines, choice);
        if (placement.workers_size() == 0 || !ValidateRunConfig(config).ok()) {
          continue;
        }
        best =
            std::max(best, FakePrediction(numbers, machines, config, placement)
                                   .images_per_second() /
                               FakeImagesNeeded(numbers, config).factor);
      }
    }
  };
  for (int g = 1; g < 8; ++g) {
    for (int d = 1; g + d <= 8; ++d) {
      choice.generator.workers = g;
      choice.discriminator.workers = d;
      consider();
    }
  }
  choice = {.colocated = true};
  consider();
  return best;
}

TEST(SearchTest, FirstCandidateIsTheBestOfAllShapes) {
  for (const double discriminator : {0.3e-3, 1e-3, 5e-3}) {
    for (const double judge : {0.1e-3, 1e-3}) {
      const FakeNumbers numbers = {.discriminator = discriminator,
                                   .judge = judge};
      const Machines machines = FakeMachines(8);
      ASSERT_OK_AND_ASSIGN(const Plan plan, FindPlan(FakeRequest(machines),
                                                     FakeModels(numbers)));
      const Prediction& first = First(plan).prediction();
      EXPECT_GE(first.images_per_second() / first.images_needed(),
                BestByHand(numbers, machines) / 1.021);
    }
  }
}

TEST(SearchTest, HeavyDiscriminatorsGetMoreWorkers) {
  const FakeNumbers numbers = {.generator = 1e-3, .discriminator = 7e-3};
  ASSERT_OK_AND_ASSIGN(const Plan plan, FindPlan(FakeRequest(FakeMachines(8)),
                                                 FakeModels(numbers)));
  EXPECT_EQ(First(plan).config().generator().workers(), 1);
  EXPECT_EQ(First(plan).config().discriminator().workers(), 7);
  EXPECT_EQ(First(plan).config().schedule().feedback(), ScheduleConfig::FUSED);
  EXPECT_THAT(First(plan).name(), StartsWith("1 G + 7 D, 1 thread, FUSED"));
  EXPECT_THAT(plan.reasons(0), StartsWith("decouple: "));
}

// The rough ranking is wrong by a sixth between neighbors.
TEST(SearchTest, BestTwentyOfTheRankingAreSimulated) {
  for (const double discriminator : {0.3e-3, 5e-3}) {
    const FakeNumbers numbers = {.discriminator = discriminator};
    const Machines machines = FakeMachines(2, /*hosts=*/12);
    ASSERT_OK_AND_ASSIGN(const Plan right,
                         FindPlan(FakeRequest(machines), FakeModels(numbers)));
    PlanModels models = FakeModels(numbers);
    std::atomic<int> asked = 0;
    models.predict = [&](const ProfileCosts&, const Machines& hosts,
                         const RunConfig& config, const Placement& placement) {
      ++asked;
      return FakePrediction(numbers, hosts, config, placement);
    };
    models.predict_roughly = [&](const ProfileCosts&, const Machines& hosts,
                                 const RunConfig& config,
                                 const Placement& placement) {
      Prediction prediction = FakePrediction(numbers, hosts, config, placement);
      const int workers = config.generator().workers();
      prediction.set_images_per_second(prediction.images_per_second() *
                                       (1 + 0.08 * (workers % 3 - 1)));
      return prediction;
    };
    ASSERT_OK_AND_ASSIGN(const Plan plan,
                         FindPlan(FakeRequest(machines), models));
    // Twenty candidates and the best synchronous one; the reasons need 6 more.
    EXPECT_LE(asked.load(), 21 + 6);
    EXPECT_LE(First(plan).prediction().time_to_quality(),
              1.03 * First(right).prediction().time_to_quality());
  }
}

TEST(SearchTest, ErrorsOfExactPredictionsAreReported) {
  PlanModels models = FakeModels({});
  models.predict = [](const ProfileCosts&, const Machines&, const RunConfig&,
                      const Placement&) -> absl::StatusOr<Prediction> {
    return absl::InternalError("the simulation is stuck");
  };
  EXPECT_THAT(FindPlan(FakeRequest(FakeMachines(2)), models),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the simulation is stuck")));
}

TEST(SearchTest, ErrorsOfRoughPredictionsAreReported) {
  PlanModels models = FakeModels({});
  models.predict_roughly = [](const ProfileCosts&, const Machines&,
                              const RunConfig&,
                              const Placement&) -> absl::StatusOr<Prediction> {
    return absl::NotFoundError("no probe of it");
  };
  EXPECT_THAT(FindPlan(FakeRequest(FakeMachines(2)), models),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no probe of it")));
}

TEST(SearchTest, ColocatedWinsIfAllThreadsHelp) {
  // Two processes of one thread are as fast, but need more images for the lag.
  const PlanRequest request =
      FakeRequest(FakeMachines(2), Plan::TIME_TO_QUALITY, {}, FakeRecipe(),
                  FakeProfile({1, 2}));
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      FindPlan(request, FakeModels({.judge = 0, .images_per_lag = 0.2})));
  EXPECT_TRUE(IsColocatedFirst(plan));
  EXPECT_EQ(First(plan).config().schedule().lag(), 0);
  EXPECT_EQ(First(plan).config().discriminator().threads(), 2);
  EXPECT_THAT(First(plan).name(), StartsWith("colocated, 2 threads"));
  // 64 images take 1 ms each in both roles, divided by 2 threads.
  EXPECT_THAT(plan.reasons(0),
              AllOf(StartsWith("do not decouple here: colocated has 1000 "),
                    HasSubstr("the best decoupled candidate (1 G + 1 D"),
                    HasSubstr("times as long to the same quality")));
}

TEST(SearchTest, TimesAreRelativeToTheBestSynchronousRun) {
  const Machines machines = FakeMachines(8);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(machines), FakeModels({})));
  ASSERT_OK_AND_ASSIGN(const Plan synchronous,
                       FindPlan(FakeRequest(machines, Plan::TIME_TO_QUALITY,
                                            {.least_lag = 0, .most_lag = 0}),
                                FakeModels({})));
  const auto cost = [](const Candidate& candidate) {
    return candidate.prediction().images_needed() /
           candidate.prediction().images_per_second();
  };
  const double best = cost(*std::ranges::min_element(
      synchronous.candidates(), std::ranges::less(), cost));
  EXPECT_LT(First(plan).prediction().time_to_quality(), 1);
  for (const Plan& each : {plan, synchronous}) {
    for (const Candidate& candidate : each.candidates()) {
      EXPECT_NEAR(candidate.prediction().time_to_quality(),
                  cost(candidate) / best, 1e-9)
          << candidate.name();
    }
  }
}

TEST(SearchTest, AtMostTenShapesIncludeAColocatedOne) {
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(8)), FakeModels({})));
  EXPECT_EQ(plan.candidates_size(), 10);
  std::set<std::string> names;
  int colocated = 0;
  for (const Candidate& candidate : plan.candidates()) {
    names.insert(candidate.name());
    EXPECT_OK(ValidateRunConfig(candidate.config()));
    EXPECT_EQ(EffectiveConfigText(candidate.config()),
              candidate.config().DebugString());
    if (candidate.placement().workers(0).role() == COLOCATED) ++colocated;
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_GE(colocated, 1);
  for (int i = 2; i < 9; ++i) {
    EXPECT_GE(plan.candidates(i).prediction().time_to_quality(),
              plan.candidates(i - 1).prediction().time_to_quality());
  }
}

TEST(SearchTest, EqualRequestsHaveEqualPlans) {
  const PlanRequest request = FakeRequest(FakeMachines(4, /*hosts=*/3));
  const PlanModels models = FakeModels({.image_bytes = 1e4});
  ASSERT_OK_AND_ASSIGN(const Plan one, FindPlan(request, models));
  ASSERT_OK_AND_ASSIGN(const Plan two, FindPlan(request, models));
  EXPECT_EQ(one.DebugString(), two.DebugString());
}

TEST(SearchTest, SlowLinksAreHiddenByLag) {
  const FakeNumbers numbers = {
      .judge = 0.1e-3, .image_bytes = 1e6, .images_per_lag = 0.01};
  Machines machines = FakeMachines(1, /*hosts=*/2);
  ASSERT_OK_AND_ASSIGN(Plan plan,
                       FindPlan(FakeRequest(machines), FakeModels(numbers)));
  // 64 images take 0.064 s over the link, as long as each role computes.
  EXPECT_EQ(First(plan).config().schedule().lag(), 2);
  machines.mutable_link()->set_bytes_per_second(1e12);
  ASSERT_OK_AND_ASSIGN(plan,
                       FindPlan(FakeRequest(machines), FakeModels(numbers)));
  EXPECT_EQ(First(plan).config().schedule().lag(), 1);
}

TEST(SearchTest, LagsAreInTheRequestedRange) {
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      FindPlan(FakeRequest(FakeMachines(4), Plan::TIME_TO_QUALITY,
                           {.least_lag = 3, .most_lag = 3}),
               FakeModels({})));
  for (const Candidate& candidate : plan.candidates()) {
    EXPECT_EQ(candidate.config().schedule().lag(), 3) << candidate.name();
    EXPECT_NE(candidate.config().schedule().feedback(), ScheduleConfig::FUSED);
  }
}

TEST(SearchTest, SlowHostsAreLeftOut) {
  // Three fast hosts, two of which train, beat four hosts at a slow pace.
  Machines machines = FakeMachines(1, /*hosts=*/4);
  machines.mutable_hosts(1)->set_speed(0.3);
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      FindPlan(FakeRequest(machines), FakeModels({.discriminator = 2e-3})));
  for (const PlacedWorker& worker : First(plan).placement().workers()) {
    EXPECT_NE(worker.host(), "host1");
  }
  EXPECT_EQ(First(plan).config().discriminator().workers(), 2);
}

TEST(SearchTest, MemoryIsNeverExceeded) {
  Machines machines = FakeMachines(4);
  machines.mutable_hosts(0)->set_memory_bytes(int64_t{540} << 20);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(machines), FakeModels({})));
  for (const Candidate& candidate : plan.candidates()) {
    int64_t bytes = 0;
    for (const PlacedWorker& worker : candidate.placement().workers()) {
      bytes += worker.role() == GENERATOR
                   ? candidate.prediction().generator_bytes()
                   : candidate.prediction().discriminator_bytes();
    }
    EXPECT_LE(1.08 * bytes, int64_t{540} << 20) << candidate.name();
  }
  EXPECT_EQ(First(plan).placement().workers_size(), 4);
  EXPECT_THAT(First(plan).name(), HasSubstr("micro-batch"));
}

TEST(SearchTest, StepsThatFitAreNotCut) {
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(2)), FakeModels({})));
  for (const Candidate& candidate : plan.candidates()) {
    EXPECT_EQ(candidate.config().discriminator().micro_batch(), 0);
  }
  RunConfig recipe = FakeRecipe();
  recipe.mutable_discriminator()->set_micro_batch(16);
  ASSERT_OK_AND_ASSIGN(
      const Plan whole,
      FindPlan(FakeRequest(FakeMachines(2), Plan::THROUGHPUT, {}, recipe),
               FakeModels({})));
  EXPECT_EQ(First(whole).config().discriminator().micro_batch(), 0);
}

TEST(SearchTest, BindingLimitIsNamedWithTheNearestValue) {
  Machines machines = FakeMachines(2);
  machines.mutable_hosts(0)->set_memory_bytes(50 << 20);
  const absl::Status status =
      FindPlan(FakeRequest(machines), FakeModels({})).status();
  // 132 MiB with half of the batch in one process, and a reserve of 8 %.
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("host0 has 50.0 MiB"),
                                     HasSubstr("colocated"),
                                     HasSubstr("--memory 143MiB, or "
                                               "memory_bytes of --hosts"))));
  machines.mutable_hosts(0)->set_memory_bytes(143 << 20);
  EXPECT_OK(FindPlan(FakeRequest(machines), FakeModels({})).status());
  machines.mutable_hosts(0)->set_memory_bytes(142 << 20);
  EXPECT_THAT(FindPlan(FakeRequest(machines), FakeModels({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--memory 143MiB")));
  machines.mutable_hosts(0)->set_device("cuda");
  machines.mutable_hosts(0)->set_devices(2);
  machines.mutable_hosts(0)->set_device_memory_bytes(50 << 20);
  EXPECT_THAT(FindPlan(FakeRequest(machines), FakeModels({})).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("a GPU of host0 has 50.0 MiB"),
                             HasSubstr("or device_memory_bytes of --hosts"))));
}

TEST(SearchTest, TooSmallHostsAreLeftOut) {
  Machines machines = FakeMachines(2, /*hosts=*/2);
  machines.mutable_hosts(0)->set_memory_bytes(50 << 20);
  machines.mutable_hosts(1)->set_memory_bytes(int64_t{64} << 30);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(machines), FakeModels({})));
  for (const Candidate& candidate : plan.candidates()) {
    for (const PlacedWorker& worker : candidate.placement().workers()) {
      EXPECT_EQ(worker.host(), "host1") << candidate.name();
    }
  }
}

// Two processes of 164 MiB take more memory of a host than one process.
TEST(SearchTest, LeastMemoryIsThatOfAHost) {
  SearchLimits limits;
  PlanRequest request = FakeRequest(FakeMachines(4), Plan::MEMORY, limits);
  ASSERT_OK_AND_ASSIGN(const Plan plan, FindPlan(request, FakeModels({})));
  EXPECT_TRUE(IsColocatedFirst(plan));
}

TEST(SearchTest, ModelErrorsAreReportedIfNothingIsPredicted) {
  PlanModels models = FakeModels({});
  models.predict = [](const ProfileCosts&, const Machines&, const RunConfig&,
                      const Placement&) -> absl::StatusOr<Prediction> {
    return absl::NotFoundError("no probe of the generator");
  };
  EXPECT_THAT(FindPlan(FakeRequest(FakeMachines(2)), models).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no probe of the generator")));
}

TEST(SearchTest, InvalidSettingsAreNotProposed) {
  RunConfig recipe = FakeRecipe();
  recipe.mutable_schedule()->set_image_source(ScheduleConfig::FRESH);
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      FindPlan(FakeRequest(FakeMachines(4), Plan::TIME_TO_QUALITY, {}, recipe),
               FakeModels({})));
  for (const Candidate& candidate : plan.candidates()) {
    EXPECT_NE(candidate.config().schedule().feedback(), ScheduleConfig::FUSED);
    EXPECT_EQ(candidate.config().schedule().image_source(),
              ScheduleConfig::FRESH);
  }
}

// Returns models with a fixed time per step, so that large batches are cheap.
PlanModels WithCostOfAStep(const FakeNumbers& numbers, double seconds) {
  PlanModels models = FakeModels(numbers);
  models.predict =
      [numbers, seconds](
          const ProfileCosts&, const Machines& machines,
          const RunConfig& config,
          const Placement& placement) -> absl::StatusOr<Prediction> {
    Prediction prediction =
        FakePrediction(numbers, machines, config, placement);
    const double round = prediction.round_seconds() + seconds;
    prediction.set_round_seconds(round);
    prediction.set_images_per_second(
        static_cast<double>(config.discriminator().batch_size()) / round);
    return prediction;
  };
  return models;
}

TEST(SearchTest, ThroughputUsesTheLargestBatchAndAsManyImages) {
  const PlanModels models = WithCostOfAStep({}, 0.1);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(4), Plan::THROUGHPUT,
                                            {.max_batch = 300}),
                                models));
  const RunConfig& config = First(plan).config();
  EXPECT_EQ(config.discriminator().batch_size(), 256);
  EXPECT_EQ(config.generator().batch_size(), 256);
  EXPECT_EQ(config.rounds(), 250);
  EXPECT_EQ(config.generator().optimizer().base_batch_size(), 64);
}

TEST(SearchTest, BatchesBeyondTheKneeAreNotChosen) {
  // Twice the batch is 1.9 times as fast and needs twice the images.
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(4)),
                                WithCostOfAStep({.batch_knee = 1}, 0.5)));
  EXPECT_LE(First(plan).config().discriminator().batch_size(), 64);
  // Without a knee, a larger batch needs no additional images.
  ASSERT_OK_AND_ASSIGN(const Plan free, FindPlan(FakeRequest(FakeMachines(4)),
                                                 WithCostOfAStep({}, 0.5)));
  EXPECT_GT(First(free).config().discriminator().batch_size(), 64);
}

TEST(SearchTest, LeastMemoryIsThatOfSmallPasses) {
  // Three generators have 22 images each, and a discriminator 64.
  ASSERT_OK_AND_ASSIGN(
      const Plan plan,
      FindPlan(FakeRequest(FakeMachines(1, /*hosts=*/4), Plan::MEMORY),
               FakeModels({})));
  EXPECT_EQ(First(plan).prediction().generator_bytes(), 122 << 20);
  EXPECT_LE(First(plan).prediction().discriminator_bytes(), 122 << 20);
}

TEST(SearchTest, SimplerOfTwoEqualCandidatesIsFirst) {
  // The generator costs almost nothing: 1 G + 1 D is 1 % faster than colocated.
  const FakeNumbers numbers = {
      .generator = 1e-5, .judge = 0, .images_per_lag = 0};
  ASSERT_OK_AND_ASSIGN(const Plan plan, FindPlan(FakeRequest(FakeMachines(2)),
                                                 FakeModels(numbers)));
  EXPECT_TRUE(IsColocatedFirst(plan));
  EXPECT_LT(First(plan).prediction().images_per_second(),
            plan.candidates(1).prediction().images_per_second());
}

TEST(SearchTest, OptimizersAreChosenBeforeThePredictions) {
  PlanModels models = FakeModels({});
  models.choose_optimizers = [](RunConfig& config) {
    const double lag = static_cast<double>(config.schedule().lag());
    config.mutable_generator()->mutable_optimizer()->set_optimism(lag);
    return std::vector<std::string>{absl::StrCat("optimism ", lag)};
  };
  models.images_needed = [](const RunConfig& config) {
    EXPECT_EQ(config.generator().optimizer().optimism(),
              static_cast<double>(config.schedule().lag()));
    return ImagesNeeded{};
  };
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(4)), models));
  EXPECT_EQ(First(plan).config().generator().optimizer().optimism(),
            static_cast<double>(First(plan).config().schedule().lag()));
  EXPECT_EQ(plan.reasons(plan.reasons_size() - 1),
            absl::StrCat("optimism ", First(plan).config().schedule().lag()));
}

TEST(SearchTest, ManyDevicesNeedFewPredictions) {
  std::atomic<int> asked = 0;
  PlanModels models = FakeModels({});
  const auto predict = models.predict;
  models.predict = [&](const ProfileCosts& costs, const Machines& machines,
                       const RunConfig& config, const Placement& placement) {
    ++asked;
    return predict(costs, machines, config, placement);
  };
  RunConfig recipe = FakeRecipe(4096);
  ASSERT_OK_AND_ASSIGN(const Plan plan,
                       FindPlan(FakeRequest(FakeMachines(8, /*hosts=*/16),
                                            Plan::TIME_TO_QUALITY, {}, recipe),
                                models));
  EXPECT_LT(asked.load(), 10'000);
  EXPECT_GT(First(plan).placement().workers_size(), 110);
}

}  // namespace
}  // namespace gandem
