// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::kTick;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::Ge;
using ::testing::Gt;

double Total(const RoleWaits& waits) {
  return std::accumulate(waits.begin(), waits.end(), 0.0);
}

std::vector<std::string> With(std::vector<std::string> sets,
                              const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Each worker has its own host, generators first.
struct Fleet {
  int generators = 1;
  int discriminators = 1;

  std::vector<std::string> Sets() const {
    return {absl::StrCat("generator.workers=", generators),
            absl::StrCat("discriminator.workers=", discriminators)};
  }
  Machines Hosts(double bytes_per_second, double latency) const {
    Machines machines = HostsOf(generators + discriminators, 1);
    machines.mutable_link()->set_bytes_per_second(bytes_per_second);
    machines.mutable_link()->set_latency_seconds(latency);
    return machines;
  }
  Placement Places() const {
    std::vector<std::string> workers;
    for (int i = 0; i < generators + discriminators; ++i) {
      workers.push_back(
          absl::StrCat(i < generators ? "G " : "D ",
                       std::string(1, static_cast<char>('a' + i))));
    }
    return PlacementOf(workers);
  }
};

absl::StatusOr<SimulatedRounds> Simulate(
    const Fleet& fleet, const std::vector<std::string>& sets,
    double bytes_per_second = 1 << 28, double latency = 100 * kTick,
    const ProfileBuilder& builder = ProfileBuilder()) {
  const auto shape =
      MakeRunShape(builder.Build(), fleet.Hosts(bytes_per_second, latency),
                   PlannedConfig(With(fleet.Sets(), sets)), fleet.Places());
  if (!shape.ok()) return shape.status();
  return SimulateRun(*shape, {});
}

const std::vector<Fleet>& Fleets() {
  static const auto& fleets =
      *new std::vector<Fleet>{{1, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 2}, {4, 4}};
  return fleets;
}

// Returns all schedules, in some form.
const std::vector<std::vector<std::string>>& Schedules() {
  static const auto& schedules = *new std::vector<std::vector<std::string>>{
      {"schedule.lag=0"},
      {"schedule.lag=1"},
      {"schedule.lag=3", "exchange.cache_rounds=3"},
      {"schedule.lag=2", "generator.micro_batch=8",
       "discriminator.micro_batch=4"},
      {"schedule.lag=1", "schedule.image_source=FRESH",
       "schedule.discriminator_steps_per_round=3"},
      {"schedule.lag=2", "schedule.discriminator_steps_per_round=2",
       "discriminator.batch_size=32"},
      {"schedule.lag=0", "schedule.feedback=IMAGE_GRADIENT"},
      {"schedule.lag=2", "schedule.feedback=IMAGE_GRADIENT",
       "generator.micro_batch=8"},
      {"schedule.lag=1", "schedule.feedback=IMAGE_GRADIENT",
       "schedule.image_source=FRESH"},
      {"schedule.feedback=FUSED"},
      {"schedule.feedback=FUSED", "generator.micro_batch=5",
       "discriminator.micro_batch=8",
       "schedule.discriminator_steps_per_round=2",
       "discriminator.batch_size=32"},
      {"schedule.lag=2", "schedule.consistency=BOUNDED"},
      {"schedule.lag=2", "schedule.consistency=BOUNDED",
       "schedule.max_samples_per_image=3"},
      {"schedule.lag=1", "schedule.consistency=BOUNDED",
       "schedule.feedback=IMAGE_GRADIENT"}};
  return schedules;
}

TEST(SimulatedRunTest, EveryMessageIsReceivedOnce) {
  for (const Fleet& fleet : Fleets()) {
    for (const std::vector<std::string>& sets : Schedules()) {
      SCOPED_TRACE(absl::StrCat(fleet.generators, "+", fleet.discriminators,
                                " ", ::testing::PrintToString(sets)));
      ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds, Simulate(fleet, sets));
      const ExchangeCounts& counts = rounds.counts;
      const RunConfig config = PlannedConfig(sets);
      const int64_t of_round =
          config.schedule().discriminator_steps_per_round() *
          config.discriminator().batch_size();
      const int64_t trained =
          static_cast<int64_t>(rounds.round_ends.size()) * of_round;
      EXPECT_THAT(counts.images_taken, Ge(trained));
      EXPECT_LE(counts.answers_taken, counts.images_asked);
      EXPECT_LE(counts.critics_acknowledged, counts.critics_sent);
      if (config.schedule().consistency() == ScheduleConfig::EXACT) {
        EXPECT_LE(counts.images_taken, counts.images_sent);
        // The lag limits the number of waiting images.
        EXPECT_LE(counts.images_sent - counts.images_taken,
                  (config.schedule().lag() + 2) * of_round);
      }
    }
  }
}

// In every round, a rank computes its operations and waits for the rest.
TEST(SimulatedRunTest, WorkIsConserved) {
  for (const std::vector<std::string>& sets : Schedules()) {
    if (absl::StrContains(::testing::PrintToString(sets), "BOUNDED")) continue;
    SCOPED_TRACE(::testing::PrintToString(sets));
    const Fleet fleet = {1, 1};
    ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds, Simulate(fleet, sets));
    const RunConfig config = PlannedConfig(sets);
    const bool judges =
        config.schedule().feedback() == ScheduleConfig::SNAPSHOT;
    const double steps = config.schedule().discriminator_steps_per_round();
    const double images = steps * config.discriminator().batch_size();
    double generator = 64 * (judges ? 5000 : 3000);
    if (config.schedule().image_source() == ScheduleConfig::FRESH) {
      generator += images * 1000;
    }
    double discriminator = images * 6000;
    if (config.schedule().feedback() == ScheduleConfig::FUSED) {
      discriminator = images * 7000;
    } else if (!judges) {
      discriminator += 64 * 2000;
    }
    EXPECT_THAT(rounds.round_seconds - Total(rounds.generator_waits),
                DoubleNear(generator * kTick, 1e-9));
    EXPECT_THAT(rounds.round_seconds - Total(rounds.discriminator_waits),
                DoubleNear(discriminator * kTick, 1e-9));
  }
}

TEST(SimulatedRunTest, MoreBandwidthIsNeverSlower) {
  for (const Fleet& fleet : Fleets()) {
    for (const std::vector<std::string>& sets : Schedules()) {
      SCOPED_TRACE(absl::StrCat(fleet.generators, "+", fleet.discriminators,
                                " ", ::testing::PrintToString(sets)));
      double last = std::numeric_limits<double>::infinity();
      for (const double bandwidth : {1 << 21, 1 << 24, 1 << 28}) {
        ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds,
                             Simulate(fleet, sets, bandwidth));
        EXPECT_LE(rounds.round_seconds, last * (1 + 1e-9));
        last = rounds.round_seconds;
      }
    }
  }
}

TEST(SimulatedRunTest, LagNeverMakesARoundSlower) {
  for (const Fleet& fleet : Fleets()) {
    for (const char* const feedback : {"SNAPSHOT", "IMAGE_GRADIENT"}) {
      for (const char* const consistency : {"EXACT", "BOUNDED"}) {
        double last = std::numeric_limits<double>::infinity();
        for (const int lag : {0, 1, 2, 4, 8}) {
          if (lag == 0 && absl::string_view(consistency) == "BOUNDED") continue;
          SCOPED_TRACE(absl::StrCat(fleet.generators, "+", fleet.discriminators,
                                    " ", feedback, " ", consistency, " ", lag));
          ASSERT_OK_AND_ASSIGN(
              const SimulatedRounds rounds,
              Simulate(fleet,
                       {absl::StrCat("schedule.lag=", lag),
                        absl::StrCat("schedule.feedback=", feedback),
                        absl::StrCat("schedule.consistency=", consistency)},
                       1 << 24, 20000 * kTick));
          EXPECT_LE(rounds.round_seconds, last * (1 + 1e-6));
          last = rounds.round_seconds;
        }
      }
    }
  }
}

TEST(SimulatedRunTest, ColocatedRolesAlternate) {
  ASSERT_OK_AND_ASSIGN(const RunShape shape,
                       MakeRunShape(ProfileBuilder().Build(), HostsOf(1, 2),
                                    PlannedConfig(), PlacementOf({"C a"})));
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds, SimulateRun(shape, {}));
  EXPECT_THAT(rounds.round_seconds, DoubleEq(64 * 11000 * kTick));
  EXPECT_EQ(Total(rounds.generator_waits), 0);
}

TEST(SimulatedRunTest, MeasuredColocatedRoundsCount) {
  Profile profile = ProfileBuilder().Build();
  Probe& probe = *profile.add_probes();
  probe = profile.probes(0);
  probe.mutable_settings()->set_role(COLOCATED);
  probe.mutable_settings()->set_batch_size(32);
  probe.mutable_settings()->set_feedback(ScheduleConfig::SNAPSHOT);
  probe.mutable_round()->set_median_seconds(32 * 11000 * 1.25 * kTick);
  ASSERT_OK_AND_ASSIGN(const RunShape shape,
                       MakeRunShape(profile, HostsOf(1, 2), PlannedConfig(),
                                    PlacementOf({"C a"})));
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds, SimulateRun(shape, {}));
  EXPECT_THAT(rounds.round_seconds, DoubleNear(64 * 13750 * kTick, 1e-9));
}

double ColocatedSeconds(const Profile& profile,
                        ScheduleConfig::FeedbackMode mode) {
  const std::string feedback = absl::StrCat(
      "schedule.feedback=", ScheduleConfig::FeedbackMode_Name(mode));
  const auto shape = MakeRunShape(
      profile, HostsOf(1, 2), PlannedConfig({feedback}), PlacementOf({"C a"}));
  EXPECT_OK(shape);
  const auto rounds = shape.ok() ? SimulateRun(*shape, {}) : shape.status();
  EXPECT_OK(rounds);
  return rounds.ok() ? rounds->round_seconds : 0;
}

// A mode with measured rounds uses them. A mode without is the sum of its
// operations, independent of other modes.
TEST(SimulatedRunTest, ColocatedRoundsCountForTheirFeedbackMode) {
  constexpr struct {
    ScheduleConfig::FeedbackMode mode;
    double factor;
  } kMeasured[] = {{ScheduleConfig::SNAPSHOT, 1.25},
                   {ScheduleConfig::IMAGE_GRADIENT, 1.5}};
  const Profile parts = ProfileBuilder().Build();
  Profile profile = parts;
  for (const auto& [mode, factor] : kMeasured) {
    Probe& probe = *profile.add_probes();
    probe = parts.probes(0);
    probe.mutable_settings()->set_role(COLOCATED);
    probe.mutable_settings()->set_batch_size(64);
    probe.mutable_settings()->set_feedback(mode);
    probe.mutable_round()->set_median_seconds(factor *
                                              ColocatedSeconds(parts, mode));
  }
  for (const auto& [mode, factor] : kMeasured) {
    EXPECT_THAT(ColocatedSeconds(profile, mode),
                DoubleNear(factor * ColocatedSeconds(parts, mode), 1e-9))
        << ScheduleConfig::FeedbackMode_Name(mode);
  }
  EXPECT_EQ(ColocatedSeconds(profile, ScheduleConfig::FUSED),
            ColocatedSeconds(parts, ScheduleConfig::FUSED));
}

// Two workers that compute all the time on two cores slow each other down.
TEST(SimulatedRunTest, ContentionCosts) {
  const RunConfig config = PlannedConfig({"schedule.lag=2"});
  const auto seconds = [&config](double beside, int cores) {
    const auto shape =
        MakeRunShape(ProfileBuilder().Beside(beside).Build(), HostsOf(1, cores),
                     config, PlacementOf({"G a", "D a"}));
    EXPECT_OK(shape);
    const auto rounds = SimulateRun(*shape, {});
    EXPECT_OK(rounds);
    return rounds->round_seconds;
  };
  const double alone = 64 * 6000 * kTick;
  EXPECT_THAT(seconds(1, 2), DoubleNear(alone, 1e-9));
  // The generator computes for a part p of the round, which slows the
  // discriminator, which never waits, by a quarter: p = 5000 * 1.25 / T.
  EXPECT_THAT(seconds(1.25, 2),
              DoubleNear(64 * (6000 + 5000 * 0.25) * kTick, 1e-9));
  // A third of the free cores is busy.
  EXPECT_THAT(seconds(1.25, 4),
              DoubleNear(64 * (6000 + 5000 * 0.25 / 3) * kTick, 1e-9));
  // On one core they take turns, and lose a tenth while both compute.
  EXPECT_THAT(seconds(1, 1),
              DoubleNear(64 * (1.1 * 10000 + 1000) * kTick, 1e-9));
}

// While one role gets ahead of the other, neither waits; later one waits.
TEST(SimulatedRunTest, LeadIsUsedUpBeforeRoundsCount) {
  // Images are used twice until the generator, 7 % slower, is too far behind.
  ASSERT_OK_AND_ASSIGN(
      const SimulatedRounds bounded,
      Simulate({1, 1},
               {"schedule.lag=2", "schedule.consistency=BOUNDED",
                "schedule.max_samples_per_image=2"},
               /*bytes_per_second=*/1e15, /*latency=*/0,
               ProfileBuilder().Scale(GENERATOR, 1.284)));
  EXPECT_THAT(bounded.round_seconds, DoubleNear(64 * 6420 * kTick, 1e-6));
  // On one host, a generator that waits slows no other worker down.
  const auto shape =
      MakeRunShape(ProfileBuilder().Beside(1.25).Scale(GENERATOR, 1.08).Build(),
                   HostsOf(1, 2), PlannedConfig({"schedule.lag=3"}),
                   PlacementOf({"G a", "D a"}));
  ASSERT_OK(shape);
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds exact, SimulateRun(*shape, {}));
  EXPECT_THAT(exact.round_seconds,
              DoubleNear(64 * (6000 + 5400 * 0.25) * kTick, 1e-6));
  EXPECT_GT(Total(exact.generator_waits), 0);
}

TEST(SimulatedRunTest, GradientsAreSentDuringTheBackwardPass) {
  const auto seconds = [](double bandwidth,
                          const std::vector<std::string>& sets) {
    const auto rounds =
        Simulate({1, 2}, With({"schedule.lag=2"}, sets), bandwidth, 0);
    EXPECT_OK(rounds);
    return *rounds;
  };
  // A worker has 32 images of each kind; its last backward pass takes 2/3 of
  // 3000 ticks per image. 4 MiB of gradients take longer at 2^24 bytes/s, a
  // quarter of a second.
  const double work = 32 * 6000 * kTick;
  const SimulatedRounds fast = seconds(1ull << 40, {});
  EXPECT_THAT(fast.round_seconds, DoubleNear(64 * 5000 * kTick, 1e-6));
  const SimulatedRounds slow =
      seconds(1 << 24, {"discriminator.sync.bucket_bytes=1048576"});
  EXPECT_THAT(slow.round_seconds, Gt(work));
  EXPECT_GT(slow.discriminator_waits[static_cast<size_t>(RoleWait::kFleet)], 0);
  // Half of the bytes per sum, and half as many sums.
  EXPECT_LT(
      seconds(1 << 24, {"discriminator.sync.wire=BFLOAT16"}).round_seconds,
      slow.round_seconds);
  const std::string average = "discriminator.sync.mode=AVERAGE_STATE";
  EXPECT_LT(seconds(1 << 22, {"schedule.lag=1", average,
                              "discriminator.sync.interval=4"})
                .round_seconds,
            seconds(1 << 22, {"schedule.lag=1", average}).round_seconds);
}

TEST(SimulatedRunTest, RealImagesMayBeLate) {
  ProfileBuilder builder;
  // A batch of 64 takes one thread 1 s.
  builder.profile().set_images_per_decode_thread_second(64);
  const auto rounds_of = [&builder](int cores) {
    const auto shape = MakeRunShape(builder.Build(), HostsOf(1, cores),
                                    PlannedConfig({"schedule.lag=1"}),
                                    PlacementOf({"G a", "D a"}));
    EXPECT_OK(shape);
    return *SimulateRun(*shape, {});
  };
  const SimulatedRounds one_decoder = rounds_of(3);
  EXPECT_THAT(one_decoder.round_seconds, DoubleNear(1, 1e-9));
  EXPECT_THAT(
      one_decoder.discriminator_waits[static_cast<size_t>(RoleWait::kData)],
      DoubleNear(1 - 64 * 6000 * kTick, 1e-9));
  EXPECT_THAT(rounds_of(4).round_seconds, DoubleNear(0.5, 1e-9));
  EXPECT_THAT(rounds_of(8).round_seconds, DoubleNear(64 * 6000 * kTick, 1e-9));
  // Decoding without a free core takes time from the worker's core.
  EXPECT_THAT(rounds_of(2).round_seconds, Gt(1));
}

TEST(SimulatedRunTest, BytesBetweenHostsAreCounted) {
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds rounds,
                       Simulate({1, 1}, {"schedule.lag=1"}));
  // Images of 4 KiB to the discriminator, a critic of 4 MiB to the generator.
  EXPECT_EQ(rounds.link_bytes, 64 * 4096 + (4 << 20));
  EXPECT_EQ(rounds.link, "a-b");
  ASSERT_OK_AND_ASSIGN(const SimulatedRounds gradients,
                       Simulate({1, 1}, {"schedule.feedback=IMAGE_GRADIENT",
                                         "exchange.image_encoding=UINT8",
                                         "exchange.feedback_encoding="
                                         "BFLOAT16"}));
  EXPECT_EQ(gradients.link_bytes, 64 * (1024 + 2048));
}

TEST(SimulatedRunTest, JitterIsDeterministicAndMakesFleetsWait) {
  const Fleet fleet = {4, 4};
  const auto rounds_of = [&fleet](double jitter, uint64_t seed) {
    const auto shape = MakeRunShape(
        ProfileBuilder().Build(), fleet.Hosts(1 << 30, 0),
        PlannedConfig(With(fleet.Sets(), {"schedule.lag=1"})), fleet.Places());
    EXPECT_OK(shape);
    return *SimulateRun(*shape, {.jitter = jitter, .seed = seed, .rounds = 64});
  };
  const double still = rounds_of(0, 1).round_seconds;
  const double jittered = rounds_of(0.2, 1).round_seconds;
  EXPECT_EQ(jittered, rounds_of(0.2, 1).round_seconds);
  EXPECT_NE(jittered, rounds_of(0.2, 2).round_seconds);
  // All ranks wait for the slowest rank.
  EXPECT_GT(jittered, still);
  EXPECT_LT(jittered, 2 * still);
}

}  // namespace
}  // namespace gandem
