// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::kTick;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Lt;

using Strings = std::vector<std::string>;

Prediction MustPredict(const ProfileBuilder& builder, const Machines& machines,
                       const Strings& sets, const Strings& workers) {
  const auto prediction = Predict(builder.Build(), machines,
                                  PlannedConfig(sets), PlacementOf(workers));
  EXPECT_OK(prediction);
  return prediction.ok() ? *prediction : Prediction();
}

Machines Linked(int hosts, double bytes_per_second, double latency) {
  Machines machines = HostsOf(hosts, 1);
  machines.mutable_link()->set_bytes_per_second(bytes_per_second);
  machines.mutable_link()->set_latency_seconds(latency);
  return machines;
}

TEST(PredictTest, PredictsTimesBytesAndTheBottleneck) {
  const Prediction prediction =
      MustPredict(ProfileBuilder(), Linked(2, 1 << 30, 0), {}, {"G a", "D b"});
  EXPECT_THAT(prediction.round_seconds(), DoubleNear(64 * 6000 * kTick, 1e-9));
  EXPECT_THAT(prediction.images_per_second(),
              DoubleNear(1 / (6000 * kTick), 1e-6));
  EXPECT_THAT(prediction.generator_wait(), DoubleNear(1.0 / 6, 1e-9));
  EXPECT_THAT(prediction.discriminator_wait(), DoubleNear(0, 1e-9));
  EXPECT_EQ(prediction.bottleneck(), "discriminator computing");
  EXPECT_EQ(prediction.link_bytes(), 64 * 4096 + (4 << 20));
  EXPECT_GT(prediction.generator_bytes(), 1 << 28);
  EXPECT_GT(prediction.discriminator_bytes(), 1 << 28);
}

TEST(PredictTest, BottleneckIsNamed) {
  ProfileBuilder heavy;
  heavy.Scale(GENERATOR, 3);
  EXPECT_EQ(MustPredict(heavy, Linked(2, 1 << 30, 0), {}, {"G a", "D b"})
                .bottleneck(),
            "generator computing");
  EXPECT_EQ(
      MustPredict(ProfileBuilder(), HostsOf(1, 2), {}, {"C a"}).bottleneck(),
      "one worker computing both roles");
  EXPECT_EQ(MustPredict(ProfileBuilder(), Linked(2, 1 << 21, 0),
                        {"schedule.lag=8"}, {"G a", "D b"})
                .bottleneck(),
            "link a-b");
  EXPECT_EQ(MustPredict(ProfileBuilder(), Linked(2, 1 << 30, 0),
                        {"schedule.lag=0"}, {"G a", "D b"})
                .bottleneck(),
            "roles in turn at lag 0");
  ProfileBuilder sums;
  sums.profile().mutable_discriminator_state()->set_parameter_bytes(64 << 20);
  EXPECT_EQ(MustPredict(sums, Linked(3, 1 << 24, 0),
                        {"discriminator.workers=2", "schedule.feedback=FUSED"},
                        {"G a", "D b", "D c"})
                .bottleneck(),
            "link b-c");
}

// --- Scenarios that speed and memory decide ---

// Two threads share the work perfectly, and no worker waits.
TEST(PredictTest, FastEqualDevicesAreBetterColocated) {
  ProfileBuilder builder;
  builder.Threads({1, 2});
  const double colocated =
      MustPredict(builder, HostsOf(1, 2), {}, {"C a 2"}).images_per_second();
  const double decoupled =
      MustPredict(builder, HostsOf(1, 2), {}, {"G a", "D a"})
          .images_per_second();
  EXPECT_THAT(colocated, Gt(1.05 * decoupled));
}

TEST(PredictTest, SlowLinksNeedFusedFeedbackOrADeeperLag) {
  const auto speed = [](const Machines& machines, const Strings& sets) {
    return MustPredict(ProfileBuilder(), machines, sets, {"G a", "D b"})
        .images_per_second();
  };
  // Critics of 4 MiB take a second.
  const Machines narrow = Linked(2, 1 << 22, 0);
  EXPECT_THAT(speed(narrow, {"schedule.feedback=FUSED"}),
              Gt(1.5 * speed(narrow, {"schedule.lag=1"})));
  const Machines far = Linked(2, 1 << 30, 0.18);
  EXPECT_THAT(speed(far, {"schedule.lag=4"}),
              Gt(1.1 * speed(far, {"schedule.lag=1"})));
}

TEST(PredictTest, HeavierRolesNeedMoreWorkers) {
  const auto speed = [](Role heavy, int generators, int discriminators) {
    ProfileBuilder builder;
    builder.Scale(heavy, 3);
    Strings workers;
    for (int i = 0; i < generators; ++i) workers.push_back("G a");
    for (int i = 0; i < discriminators; ++i) workers.push_back("D a");
    return MustPredict(
               builder, HostsOf(1, 8),
               {"generator.workers=" + std::to_string(generators),
                "discriminator.workers=" + std::to_string(discriminators)},
               workers)
        .images_per_second();
  };
  EXPECT_THAT(speed(DISCRIMINATOR, 1, 2), Gt(1.5 * speed(DISCRIMINATOR, 1, 1)));
  EXPECT_THAT(speed(DISCRIMINATOR, 1, 2), Gt(1.5 * speed(DISCRIMINATOR, 2, 1)));
  EXPECT_THAT(speed(GENERATOR, 2, 1), Gt(1.5 * speed(GENERATOR, 1, 1)));
  EXPECT_THAT(speed(GENERATOR, 2, 1), Gt(1.5 * speed(GENERATOR, 1, 2)));
}

TEST(PredictTest, CriticsMayNotFitBesideTheGenerator) {
  ProfileBuilder builder;
  builder.profile().mutable_discriminator_state()->set_parameter_bytes(1 << 30);
  const auto bytes = [&builder](const Strings& sets) {
    return MustPredict(builder, Linked(2, 1e10, 0), sets, {"G a", "D b"})
        .generator_bytes();
  };
  EXPECT_GT(bytes({}), int64_t{2} << 30);
  EXPECT_LT(bytes({"schedule.feedback=FUSED"}), 1 << 30);
  EXPECT_LT(bytes({"schedule.feedback=IMAGE_GRADIENT"}), 1 << 30);
}

// Discriminators wait for their slowest rank; an idle generator loses little.
TEST(PredictTest, SlowDeviceAmongEightSuitsTheIdleRole) {
  ProfileBuilder builder;
  builder.Scale(DISCRIMINATOR, 21);
  Machines machines = Linked(8, 1 << 30, 0);
  machines.mutable_hosts(0)->set_speed(0.25);
  const Strings sets = {"discriminator.workers=7",
                        "discriminator.batch_size=63",
                        "generator.batch_size=63"};
  const double as_generator =
      MustPredict(builder, machines, sets,
                  {"G a", "D b", "D c", "D d", "D e", "D f", "D g", "D h"})
          .images_per_second();
  const double as_discriminator =
      MustPredict(builder, machines, sets,
                  {"D a", "D b", "D c", "D d", "D e", "D f", "D g", "G h"})
          .images_per_second();
  EXPECT_THAT(as_generator, Gt(3 * as_discriminator));
}

// Larger batches add ever less speed. The quality model has their cost.
TEST(PredictTest, LargerBatchesAddEverLessSpeed) {
  ProfileBuilder builder;
  builder.Fixed(OperationTime::UPDATE, 64 * 1000 * kTick);
  const auto speed = [&builder](int batch) {
    return MustPredict(builder, HostsOf(1, 2),
                       {"generator.batch_size=" + std::to_string(batch),
                        "discriminator.batch_size=" + std::to_string(batch)},
                       {"G a", "D a"})
        .images_per_second();
  };
  EXPECT_THAT(speed(128) / speed(64), Gt(1.05));
  EXPECT_THAT(speed(1024) / speed(512), Gt(1.0));
  EXPECT_THAT(speed(1024) / speed(512), Lt(1.02));
}

TEST(PredictTest, ErrorsNameTheWrongField) {
  const Profile profile = ProfileBuilder().Build();
  const auto fails = [&profile](const Machines& machines, const Strings& sets,
                                const Strings& workers) {
    return Predict(profile, machines, PlannedConfig(sets),
                   PlacementOf(workers));
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(fails(HostsOf(1, 2), {}, {"G a"}),
              StatusIs(kInvalid, HasSubstr("placement: DISCRIMINATOR 0 is not "
                                           "placed")));
  EXPECT_THAT(fails(HostsOf(1, 2), {}, {"G a", "G a", "D a"}),
              StatusIs(kInvalid, HasSubstr("GENERATOR 1: the config has 1")));
  EXPECT_THAT(fails(HostsOf(1, 2), {}, {"G a", "D z"}),
              StatusIs(kInvalid, HasSubstr("no host 'z'")));
  EXPECT_THAT(
      fails(HostsOf(1, 2), {}, {"C a", "D a"}),
      StatusIs(kInvalid, HasSubstr("DISCRIMINATOR 0: is placed twice")));
  EXPECT_THAT(fails(HostsOf(2, 2), {}, {"G a", "D b"}),
              StatusIs(kInvalid, HasSubstr("machines.link.bytes_per_second")));
  EXPECT_THAT(fails(Machines(), {}, {"G a", "D a"}),
              StatusIs(kInvalid, HasSubstr("hosts: there are none")));
  EXPECT_THAT(fails(HostsOf(1, 0), {}, {"G a", "D a"}),
              StatusIs(kInvalid, HasSubstr("hosts(0).cores 0")));
  EXPECT_THAT(fails(HostsOf(1, 8), {}, {"G a 8", "D a"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("8 threads")));
  Machines twins = HostsOf(2, 1);
  twins.mutable_hosts(1)->set_name("a");
  EXPECT_THAT(fails(twins, {}, {"G a", "D a"}),
              StatusIs(kInvalid, HasSubstr("hosts(1).name 'a'")));
  RunConfig config = PlannedConfig();
  config.mutable_generator()->set_batch_size(63);
  EXPECT_THAT(
      Predict(profile, HostsOf(1, 2), config, PlacementOf({"G a", "D a"})),
      StatusIs(kInvalid, HasSubstr("config: ")));
}

void ExpectRoughlyRight(const Profile& profile, const Machines& machines,
                        const RunConfig& config, const Placement& placement) {
  ASSERT_OK_AND_ASSIGN(const Prediction exact,
                       Predict(profile, machines, config, placement));
  ASSERT_OK_AND_ASSIGN(const Prediction rough,
                       PredictRoughly(profile, machines, config, placement));
  EXPECT_NEAR(rough.images_per_second() / exact.images_per_second(), 1, 0.2);
  EXPECT_EQ(rough.generator_bytes(), exact.generator_bytes());
  EXPECT_EQ(rough.discriminator_bytes(), exact.discriminator_bytes());
}

// The order of fleets decides which candidates a search simulates.
TEST(PredictTest, RoughPredictionsAreNearTheSimulation) {
  const Profile profile = ProfileBuilder().Beside(1.3).Build();
  for (const auto& workers : std::vector<std::vector<std::string>>{
           {"C a"},
           {"G a", "D a"},
           {"G a", "D b"},
           {"G a", "D a", "D b", "D b"},
           {"G a", "G b", "D a", "D b", "D c", "D c"},
           {"G a", "G b", "G c", "G d", "D a", "D b", "D c", "D d"}}) {
    int generators = 0;
    for (const std::string& worker : workers) generators += worker[0] == 'G';
    const int discriminators = static_cast<int>(workers.size()) - generators;
    for (const auto& [feedback, lag] :
         std::vector<std::pair<const char*, const char*>>{
             {"SNAPSHOT", "0"},
             {"SNAPSHOT", "1"},
             {"SNAPSHOT", "2"},
             {"IMAGE_GRADIENT", "1"},
             {"IMAGE_GRADIENT", "2"},
             {"FUSED", "1"}}) {
      Machines machines = HostsOf(4, 2);
      machines.mutable_link()->set_bytes_per_second(1 << 28);
      machines.mutable_link()->set_latency_seconds(100 * kTick);
      const RunConfig config = PlannedConfig(
          {absl::StrCat("generator.workers=", std::max(1, generators)),
           absl::StrCat("discriminator.workers=", discriminators),
           absl::StrCat("schedule.feedback=", feedback),
           absl::StrCat("schedule.lag=", lag)});
      SCOPED_TRACE(
          absl::StrCat(absl::StrJoin(workers, ", "), " ", feedback, " ", lag));
      ExpectRoughlyRight(profile, machines, config, PlacementOf(workers));
    }
  }
}

// The config has many steps, messages, and ranks on a host.
TEST(PredictTest, RoughPredictionsIncludeMessages) {
  ProfileBuilder builder;
  for (const Role role : {GENERATOR, DISCRIMINATOR}) {
    StateSize& state = role == GENERATOR
                           ? *builder.profile().mutable_generator_state()
                           : *builder.profile().mutable_discriminator_state();
    state.set_parameter_bytes(64 << 20);
  }
  builder.profile().set_images_per_decode_thread_second(100);
  const Profile profile = builder.Build();
  Machines machines = HostsOf(2, 6);
  machines.mutable_link()->set_bytes_per_second(1 << 27);
  machines.mutable_link()->set_latency_seconds(500 * kTick);
  for (const auto& sets : std::vector<std::vector<std::string>>{
           {"schedule.lag=1"},
           {"schedule.lag=2", "schedule.image_source=FRESH",
            "schedule.discriminator_steps_per_round=5"},
           {"schedule.lag=1", "discriminator.sync.mode=AVERAGE_STATE",
            "discriminator.sync.interval=4"},
           {"schedule.lag=1", "schedule.feedback=IMAGE_GRADIENT"}}) {
    for (const auto& workers : std::vector<std::vector<std::string>>{
             {"G a", "G a", "G a", "G a", "D b", "D b", "D b", "D b"},
             {"G a", "G b", "D a", "D a", "D b", "D b"}}) {
      const int generators = workers.size() == 8 ? 4 : 2;
      std::vector<std::string> all = sets;
      all.push_back(absl::StrCat("generator.workers=", generators));
      all.push_back("discriminator.workers=4");
      const RunConfig config = PlannedConfig(all);
      SCOPED_TRACE(absl::StrCat(absl::StrJoin(all, ", "), ": ",
                                absl::StrJoin(workers, ", ")));
      ExpectRoughlyRight(profile, machines, config, PlacementOf(workers));
    }
  }
}

TEST(PredictTest, SizesOfStateAreRequiredIfStateIsSent) {
  ProfileBuilder builder;
  builder.profile().clear_discriminator_state();
  const Profile profile = builder.Build();
  EXPECT_THAT(Predict(profile, HostsOf(1, 2), PlannedConfig(),
                      PlacementOf({"G a", "D a"})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("discriminator_state.parameter_bytes")));
  EXPECT_OK(
      Predict(profile, HostsOf(1, 2), PlannedConfig(), PlacementOf({"C a"})));
  EXPECT_OK(Predict(profile, HostsOf(1, 2),
                    PlannedConfig({"schedule.feedback=FUSED"}),
                    PlacementOf({"G a", "D a"})));
}

}  // namespace
}  // namespace gandem
