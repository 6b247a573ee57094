// SPDX-License-Identifier: Apache-2.0
//
// Machines and networks with a known best decision, and the planner's
// decisions: the search with the cost model and the quality model of this
// release, on hand-written profiles. docs/planning.md, "Seven decisions", has
// this file as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scaling_manager/planner/predict.h"
#include "scaling_manager/planner/quality/optimizer_rules.h"
#include "scaling_manager/planner/quality/quality.h"
#include "scaling_manager/planner/search/search.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::kTick;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::testing::StartsWith;

// Times in ticks of 2^-20 s. Per image, a generator takes 5 ms and a
// discriminator 6 ms, in FUSED 3 ms and 7 ms. An update takes 8 ms. Beside the
// other role everything takes a tenth longer. A critic has 4 MiB.
ProfileBuilder Networks() {
  ProfileBuilder builder;
  builder.Fixed(OperationTime::UPDATE, 8000 * kTick).Beside(1.1);
  builder.Transfer(TransferProfile::EXCHANGE_SOCKET, 2e-4, 1e9, 5e-10);
  builder.Transfer(TransferProfile::COLLECTIVE_MEMORY, 1e-4, 1e9);
  builder.Transfer(TransferProfile::COLLECTIVE_TCP, 3e-4, 5e8);
  return builder;
}

Machines Linked(int hosts, double bytes_per_second, double latency) {
  Machines machines = HostsOf(hosts, 1);
  machines.mutable_link()->set_bytes_per_second(bytes_per_second);
  machines.mutable_link()->set_latency_seconds(latency);
  return machines;
}

// Returns a recipe with learning rates for batches of 64, without momentum.
RunConfig Recipe(std::vector<std::string> sets = {}) {
  for (const char* const role : {"generator", "discriminator"}) {
    sets.push_back(absl::StrCat(role, ".optimizer.adam.learning_rate=2e-4"));
    sets.push_back(absl::StrCat(role, ".optimizer.adam.beta1=0"));
  }
  return PlannedConfig(sets);
}

// Returns text for messages of failures and for --gtest_output=xml.
std::string TextOf(const Plan& plan) {
  std::string text;
  for (const Candidate& candidate : plan.candidates()) {
    absl::StrAppend(&text, candidate.name(), ": ",
                    candidate.prediction().images_per_second(), " images/s, ",
                    candidate.prediction().time_to_quality(), ", ",
                    candidate.prediction().bottleneck(), "\n");
  }
  for (const std::string& reason : plan.reasons()) {
    absl::StrAppend(&text, reason, "\n");
  }
  return text;
}

Plan MustPlan(const ProfileBuilder& networks, const Machines& machines,
              const RunConfig& recipe = Recipe(),
              const NoiseScales& noise = {}) {
  const Profile profile = networks.Build();
  const auto plan =
      FindPlan({.recipe = recipe, .profile = profile, .machines = machines},
               {.predict = Predict,
                .predict_roughly = PredictRoughly,
                .images_needed =
                    [&noise](const RunConfig& config) {
                      return PredictImagesNeeded(config, noise);
                    },
                .choose_optimizers = ChooseOptimizers});
  EXPECT_OK(plan);
  if (plan.ok()) ::testing::Test::RecordProperty("plan", TextOf(*plan));
  return plan.ok() ? *plan : Plan();
}

bool IsTogether(const Plan& plan) {
  return plan.candidates(0).placement().workers(0).role() == COLOCATED;
}

const RunConfig& ChosenConfig(const Plan& plan) {
  return plan.candidates(0).config();
}

// Returns the number of workers of the role on the host.
int WorkersOn(const Plan& plan, const std::string& host, Role role) {
  return static_cast<int>(std::ranges::count_if(
      plan.candidates(0).placement().workers(),
      [&](const PlacedWorker& worker) {
        return worker.host() == host && worker.role() == role;
      }));
}

// Returns the images per second of the best plan for THROUGHPUT.
double MostImages(const ProfileBuilder& networks, const Machines& machines) {
  const Profile profile = networks.Build();
  const RunConfig recipe = Recipe();
  const auto plan = FindPlan({.recipe = recipe,
                              .profile = profile,
                              .machines = machines,
                              .objective = Plan::THROUGHPUT,
                              .limits = {.most_lag = 2, .max_batch = 64}},
                             {.predict = Predict,
                              .predict_roughly = PredictRoughly,
                              .images_needed =
                                  [](const RunConfig& config) {
                                    return PredictImagesNeeded(config, {});
                                  },
                              .choose_optimizers = ChooseOptimizers});
  EXPECT_OK(plan);
  return plan.ok() ? plan->candidates(0).prediction().images_per_second() : 0;
}

TEST(ScenariosTest, MoreHostsOrAFasterLinkAreNotSlower) {
  const struct {
    double bytes_per_second;
    double latency;
  } links[] = {{1e6, 1e-2}, {1e7, 1e-3}, {1e8, 2e-4}};
  for (const Role heavy : {GENERATOR, DISCRIMINATOR}) {
    ProfileBuilder networks = Networks();
    networks.Threads({1, 2}).Scale(heavy, 2);
    double of_slower_link[9] = {};
    for (const auto& link : links) {
      double of_fewer = 0;
      for (const int hosts : {1, 2, 4}) {
        Machines machines = HostsOf(hosts, 2);
        machines.mutable_link()->set_bytes_per_second(link.bytes_per_second);
        machines.mutable_link()->set_latency_seconds(link.latency);
        const double images = MostImages(networks, machines);
        // Plans within 2 % are ordered by simplicity.
        EXPECT_GT(1.021 * images, of_fewer) << hosts << " " << link.latency;
        EXPECT_GT(1.021 * images, of_slower_link[hosts])
            << hosts << " " << link.latency;
        of_fewer = images;
        of_slower_link[hosts] = images;
      }
    }
  }
}

// Two threads of one process share all the work. Two processes of one thread
// each slow each other down, and one of them waits.
TEST(ScenariosTest, FastEqualDevicesStayTogether) {
  ProfileBuilder networks = Networks();
  networks.Threads({1, 2});
  const Plan plan = MustPlan(networks, HostsOf(1, 2));
  SCOPED_TRACE(TextOf(plan));
  EXPECT_TRUE(IsTogether(plan));
  EXPECT_EQ(ChosenConfig(plan).discriminator().threads(), 2);
  EXPECT_THAT(plan.reasons(0), StartsWith("do not decouple here: "));
}

// Sending a critic of 4 MiB takes 1 s, images and their answers 1/8 s.
TEST(ScenariosTest, NarrowLinksCarryNoCritic) {
  const Plan plan = MustPlan(Networks(), Linked(2, 1 << 22, 1e-3));
  SCOPED_TRACE(TextOf(plan));
  EXPECT_FALSE(IsTogether(plan));
  EXPECT_EQ(ChosenConfig(plan).schedule().feedback(), ScheduleConfig::FUSED);
  EXPECT_LT(plan.candidates(0).prediction().link_bytes(), 4 << 20);
}

// The round trip takes 0.4 s, as long as a round of the discriminator. At lag 1
// a role waits for both, at lag 2 for neither.
TEST(ScenariosTest, DistantLinksAreHiddenByADeeperLag) {
  const Plan plan = MustPlan(Networks(), Linked(2, 1 << 30, 0.2));
  SCOPED_TRACE(TextOf(plan));
  EXPECT_FALSE(IsTogether(plan));
  EXPECT_EQ(ChosenConfig(plan).schedule().lag(), 2);
  EXPECT_EQ(ChosenConfig(plan).schedule().feedback(), ScheduleConfig::SNAPSHOT);
}

TEST(ScenariosTest, HeavyGeneratorsGetMoreWorkers) {
  ProfileBuilder networks = Networks();
  networks.Scale(GENERATOR, 4);
  const Plan plan = MustPlan(networks, HostsOf(1, 8));
  SCOPED_TRACE(TextOf(plan));
  EXPECT_GT(ChosenConfig(plan).generator().workers(),
            ChosenConfig(plan).discriminator().workers());
  // The role with idle time computes the feedback.
  EXPECT_NE(ChosenConfig(plan).schedule().feedback(), ScheduleConfig::SNAPSHOT);
}

TEST(ScenariosTest, HeavyDiscriminatorsGetMoreWorkers) {
  ProfileBuilder networks = Networks();
  networks.Scale(DISCRIMINATOR, 4);
  const Plan plan = MustPlan(networks, HostsOf(1, 8));
  SCOPED_TRACE(TextOf(plan));
  EXPECT_GT(ChosenConfig(plan).discriminator().workers(),
            2 * ChosenConfig(plan).generator().workers());
}

// FRESH images allow SNAPSHOT and IMAGE_GRADIENT. The discriminator has no time
// for feedback, but its copies of 1 GiB do not fit beside the generator.
TEST(ScenariosTest, MemoryForbidsACriticBesideTheGenerator) {
  ProfileBuilder networks = Networks();
  networks.Scale(DISCRIMINATOR, 2);
  networks.Transfer(TransferProfile::EXCHANGE_SOCKET, 2e-4, 1e10, 5e-11);
  networks.profile().mutable_discriminator_state()->set_parameter_bytes(1
                                                                        << 30);
  const auto plan_of = [&networks](int64_t gib) {
    Machines machines = Linked(2, 1e11, 1e-5);
    for (Host& host : *machines.mutable_hosts()) {
      host.set_memory_bytes(gib << 30);
    }
    return MustPlan(networks, machines,
                    Recipe({"schedule.image_source=FRESH"}));
  };
  const Plan roomy = plan_of(8);
  {
    SCOPED_TRACE(TextOf(roomy));
    EXPECT_EQ(ChosenConfig(roomy).schedule().feedback(),
              ScheduleConfig::SNAPSHOT);
  }
  const Plan narrow = plan_of(1);
  SCOPED_TRACE(TextOf(narrow));
  EXPECT_FALSE(IsTogether(narrow));
  EXPECT_EQ(ChosenConfig(narrow).schedule().feedback(),
            ScheduleConfig::IMAGE_GRADIENT);
  for (const Candidate& candidate : narrow.candidates()) {
    EXPECT_LE(candidate.prediction().generator_bytes(), 1 << 30)
        << candidate.name();
  }
}

// Without its slowest rank, a fleet runs faster.
TEST(ScenariosTest, OneSlowDeviceAmongEightIsLeftOut) {
  ProfileBuilder networks = Networks();
  networks.Scale(DISCRIMINATOR, 6);
  Machines machines = Linked(8, 1 << 30, 1e-4);
  machines.mutable_hosts(2)->set_speed(0.3);
  const Plan plan = MustPlan(networks, machines);
  SCOPED_TRACE(TextOf(plan));
  EXPECT_EQ(WorkersOn(plan, "c", GENERATOR), 0);
  EXPECT_EQ(WorkersOn(plan, "c", DISCRIMINATOR), 0);
  EXPECT_EQ(plan.candidates(0).placement().workers_size(), 7);
}

// A generator that waits for most of a round may run on the slow device.
TEST(ScenariosTest, OneSlowDeviceAmongEightGetsAnIdleGenerator) {
  ProfileBuilder networks = Networks();
  networks.Scale(DISCRIMINATOR, 24);
  Machines machines = Linked(8, 1 << 30, 1e-4);
  machines.mutable_hosts(2)->set_speed(0.3);
  const Plan plan = MustPlan(networks, machines);
  SCOPED_TRACE(TextOf(plan));
  EXPECT_EQ(WorkersOn(plan, "c", GENERATOR), 1);
  EXPECT_EQ(ChosenConfig(plan).discriminator().workers(), 7);
}

// An update costs as much as the images of a batch, so larger batches are
// faster. Beyond the noise scale they need more images in proportion.
TEST(ScenariosTest, BatchesBeyondTheNoiseScaleAreNotChosen) {
  ProfileBuilder networks = Networks();
  networks.Fixed(OperationTime::UPDATE, 400'000 * kTick);
  const auto batch_at = [&networks](double scale) {
    const NoiseScale noise = {
        .images = scale, .low = 0.8 * scale, .high = 1.25 * scale};
    const Plan plan = MustPlan(networks, HostsOf(1, 2), Recipe(),
                               {.generator = noise, .discriminator = noise});
    EXPECT_GT(plan.candidates_size(), 0);
    return ChosenConfig(plan).discriminator().batch_size();
  };
  EXPECT_LE(batch_at(40), 64);
  EXPECT_GT(batch_at(4000), 64);
}

}  // namespace
}  // namespace gandem
