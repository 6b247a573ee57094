// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/scaling_manager/planner/profiles.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::HostsOf;
using ::gandem::testing::LeaveOneSize;
using ::gandem::testing::PlacementOf;
using ::gandem::testing::PlannedConfig;
using ::gandem::testing::ProfileBuilder;
using ::gandem::testing::StatusIs;
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr int64_t kMemoryMiB = 1 << 20;
constexpr int64_t kImage = 32 * 32 * 4;
// Size of the critic: the parameters of ProfileBuilder's discriminator.
constexpr int64_t kCritic = 4 * kMemoryMiB;

absl::StatusOr<RunShape> ShapeOf(const Profile& profile,
                                 const std::vector<std::string>& sets,
                                 const std::vector<std::string>& workers = {
                                     "G a", "D a"}) {
  return MakeRunShape(profile, HostsOf(1, 4), PlannedConfig(sets),
                      PlacementOf(workers));
}

TEST(MemoryModelTest, LineThroughTheProbes) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB);
  ASSERT_OK_AND_ASSIGN(
      const MemoryLine line,
      FitMemory(builder.Build(), {.role = GENERATOR, .threads = 1}));
  EXPECT_THAT(line.bytes_per_image, DoubleEq(2 * kMemoryMiB));
  EXPECT_THAT(line.fixed_bytes, DoubleEq(300 * kMemoryMiB));
}

TEST(MemoryModelTest, OneSizeUsesTheRestingMemory) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB);
  Profile profile = builder.Build();
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().batch_size() == 16) probe.clear_peak_bytes();
  }
  ASSERT_OK_AND_ASSIGN(const MemoryLine line,
                       FitMemory(profile, {.role = GENERATOR, .threads = 1}));
  EXPECT_THAT(line.bytes_per_image, DoubleEq(2 * kMemoryMiB));
  EXPECT_THAT(line.fixed_bytes, DoubleNear(300 * kMemoryMiB, 1));
}

// FUSED was measured only with 64 images, with 7 MiB more than other modes.
TEST(MemoryModelTest, OneSizeUsesTheLineOfAnotherMode) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB).Threads({1, 2});
  Profile profile = builder.Build();
  auto& probes = *profile.mutable_probes();
  LeaveOneSize(profile);
  for (Probe& probe : probes) {
    // A first pass adds much memory, so the line ignores resting memory.
    probe.set_resting_bytes(100 * kMemoryMiB);
    if (probe.settings().feedback() != ScheduleConfig::FUSED) continue;
    probe.set_peak_bytes(probe.peak_bytes() + 7 * kMemoryMiB);
  }
  for (const int threads : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(
        const MemoryLine line,
        FitMemory(profile, {.role = GENERATOR,
                            .threads = threads,
                            .feedback = ScheduleConfig::FUSED}));
    EXPECT_EQ(line.At(64), (307 + 64 * 2) * kMemoryMiB) << "as measured";
    EXPECT_EQ(line.At(24), (307 + 24 * 2) * kMemoryMiB);
    EXPECT_EQ(line.At(8), (307 + 16 * 2) * kMemoryMiB) << "the other's least";
  }
  // Other kernels need another amount of memory per image.
  EXPECT_THAT(FitMemory(profile, {.role = GENERATOR,
                                  .precision = RoleConfig::BFLOAT16,
                                  .threads = 1}),
              StatusIs(absl::StatusCode::kNotFound));
  Probe narrow = probes[0];
  ASSERT_EQ(narrow.settings().role(), GENERATOR);
  narrow.mutable_settings()->set_precision(RoleConfig::BFLOAT16);
  narrow.mutable_settings()->set_batch_size(64);
  narrow.set_peak_bytes(164 * kMemoryMiB);
  *probes.Add() = narrow;
  ASSERT_OK_AND_ASSIGN(const MemoryLine line,
                       FitMemory(profile, {.role = GENERATOR,
                                           .precision = RoleConfig::BFLOAT16,
                                           .threads = 1}));
  EXPECT_THAT(line.bytes_per_image, DoubleEq(kMemoryMiB));
}

// FUSED was measured with at most 64 images, which took as much memory as 16,
// so these peaks do not come from images.
TEST(MemoryModelTest, BeyondMeasuredSizesAnotherModeSetsTheSlope) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB);
  Profile profile = builder.Build();
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().feedback() == ScheduleConfig::FUSED) {
      probe.set_peak_bytes(400 * kMemoryMiB);
    } else if (probe.settings().batch_size() == 64) {
      probe.mutable_settings()->set_batch_size(128);
      probe.set_peak_bytes((300 + 128 * 2) * kMemoryMiB);
    }
  }
  ASSERT_OK_AND_ASSIGN(const MemoryLine line,
                       FitMemory(profile, {.role = GENERATOR,
                                           .threads = 1,
                                           .feedback = ScheduleConfig::FUSED}));
  EXPECT_EQ(line.At(16), 400 * kMemoryMiB);
  EXPECT_EQ(line.At(64), 400 * kMemoryMiB);
  EXPECT_EQ(line.At(96), (400 + 32 * 2) * kMemoryMiB);
}

// A single peak at one thread count has no effect if there are peaks at others.
TEST(MemoryModelTest, ThreadCountsShareALine) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB).Threads({1, 2});
  const auto raise = [](int threads, int64_t batch, Profile& profile) {
    for (Probe& probe : *profile.mutable_probes()) {
      const ProbeSettings& settings = probe.settings();
      if (settings.threads() == threads && settings.batch_size() == batch) {
        probe.set_peak_bytes(probe.peak_bytes() + 24 * kMemoryMiB);
      }
    }
  };
  // A second thread cannot lower the peak, so the difference is noise.
  Profile chance = builder.Build();
  raise(/*threads=*/1, /*batch=*/64, chance);
  // A second thread may raise the peak, for any number of images.
  Profile larger = builder.Build();
  raise(/*threads=*/2, /*batch=*/16, larger);
  raise(/*threads=*/2, /*batch=*/64, larger);
  for (const int threads : {1, 2}) {
    ASSERT_OK_AND_ASSIGN(
        MemoryLine line,
        FitMemory(chance, {.role = GENERATOR, .threads = threads}));
    EXPECT_THAT(line.bytes_per_image, DoubleEq(2.25 * kMemoryMiB));
    EXPECT_THAT(line.At(64), DoubleEq((300 + 64 * 2 + 12) * kMemoryMiB));
    ASSERT_OK_AND_ASSIGN(
        line, FitMemory(larger, {.role = GENERATOR, .threads = threads}));
    EXPECT_THAT(line.bytes_per_image, DoubleEq(2 * kMemoryMiB));
    EXPECT_THAT(line.fixed_bytes,
                DoubleEq((300 + 24 * (threads - 1)) * kMemoryMiB));
  }
}

// Memory that a first pass loads does not depend on its images.
TEST(MemoryModelTest, FewerImagesThanMeasuredTakeNoLess) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB);
  const Profile profile = builder.Build();
  ASSERT_OK_AND_ASSIGN(const RunShape small,
                       ShapeOf(profile, {"generator.batch_size=4",
                                         "discriminator.batch_size=4"}));
  ASSERT_OK_AND_ASSIGN(const int64_t bytes,
                       PeakBytes(profile, small, GENERATOR));
  EXPECT_EQ(bytes,
            (300 + 16 * 2) * kMemoryMiB + PlannedBytes(small, GENERATOR));
}

TEST(MemoryModelTest, MissingMeasurementsAreAnError) {
  EXPECT_THAT(FitMemory(Profile(), {.role = GENERATOR, .threads = 1}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("no peak of memory of the generator")));
}

TEST(MemoryModelTest, QueuesOfThePlanAreAdded) {
  const Profile profile = ProfileBuilder().Build();
  ASSERT_OK_AND_ASSIGN(const RunShape shape,
                       ShapeOf(profile, {"schedule.lag=1"}));
  // One round in transit; the critic in use and one ahead.
  EXPECT_EQ(PlannedBytes(shape, GENERATOR), 64 * kImage + 2 * kCritic);
  // Images of two rounds are in the cache, and a critic is in the slot.
  EXPECT_EQ(PlannedBytes(shape, DISCRIMINATOR), 2 * 64 * kImage + kCritic);
  ASSERT_OK_AND_ASSIGN(
      const RunShape deep,
      ShapeOf(profile, {"schedule.lag=3", "exchange.cache_rounds=3"}));
  EXPECT_EQ(PlannedBytes(deep, GENERATOR), 64 * kImage + 4 * kCritic);
  EXPECT_EQ(PlannedBytes(deep, DISCRIMINATOR), 3 * 64 * kImage + 4 * kCritic);
  ASSERT_OK_AND_ASSIGN(const RunShape fused,
                       ShapeOf(profile, {"schedule.feedback=FUSED",
                                         "exchange.image_encoding=UINT8"}));
  EXPECT_EQ(PlannedBytes(fused, GENERATOR), 64 * kImage / 4 + 64 * kImage);
  EXPECT_EQ(PlannedBytes(fused, DISCRIMINATOR),
            2 * 64 * kImage / 4 + 64 * kImage);
}

// Adds a probe of both networks in one process at lag 1.
void AddColocatedPeak(int64_t batch, int64_t bytes, Profile& profile) {
  Probe probe = profile.probes(0);
  probe.mutable_settings()->set_role(COLOCATED);
  probe.mutable_settings()->set_feedback(ScheduleConfig::SNAPSHOT);
  probe.mutable_settings()->set_batch_size(batch);
  probe.set_peak_bytes(bytes + 3 * batch * kImage + 3 * kCritic);
  *profile.add_probes() = probe;
}

TEST(MemoryModelTest, ColocatedWorkersCountTheProgramOnce) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB)
      .Memory(DISCRIMINATOR, 200 * kMemoryMiB, kMemoryMiB);
  Profile profile = builder.Build();
  ASSERT_OK_AND_ASSIGN(const RunShape shape, ShapeOf(profile, {}, {"C a"}));
  const int64_t planned =
      PlannedBytes(shape, GENERATOR) + PlannedBytes(shape, DISCRIMINATOR);
  // The discriminator's network takes 4 of the 200 MiB; the rest counts once.
  ASSERT_OK_AND_ASSIGN(int64_t both, ColocatedPeakBytes(profile, shape));
  EXPECT_EQ(both, (300 + 64 * 2 + 4 + 64) * kMemoryMiB + planned);
  // 32 images take 96 MiB; the peak is 100 MiB below the sum of both roles.
  AddColocatedPeak(/*batch=*/32, (300 + 4 + 32 * 3 - 100) * kMemoryMiB,
                   profile);
  ASSERT_OK_AND_ASSIGN(both, ColocatedPeakBytes(profile, shape));
  EXPECT_EQ(both, (300 + 4 + 64 * 3 - 100) * kMemoryMiB + planned);
  // Five more critics, and two more rounds of images in the cache.
  ASSERT_OK_AND_ASSIGN(const RunShape deep,
                       ShapeOf(profile, {"schedule.lag=3"}, {"C a"}));
  ASSERT_OK_AND_ASSIGN(const int64_t more, ColocatedPeakBytes(profile, deep));
  EXPECT_EQ(more, both + 5 * kCritic + 2 * 64 * kImage);
}

// One role's step reuses memory that the other role's step has freed.
TEST(MemoryModelTest, ColocatedWorkersWithTwoSizesGrowAsMeasured) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB)
      .Memory(DISCRIMINATOR, 200 * kMemoryMiB, kMemoryMiB);
  Profile profile = builder.Build();
  for (const int64_t batch : {32, 64}) {
    // An image takes 2 MiB, not 3 MiB as in the sum of both roles.
    AddColocatedPeak(batch, (350 + 2 * batch) * kMemoryMiB, profile);
  }
  for (const int batch : {32, 48, 64, 128}) {
    ASSERT_OK_AND_ASSIGN(
        const RunShape shape,
        ShapeOf(profile,
                {absl::StrCat("generator.batch_size=", batch),
                 absl::StrCat("discriminator.batch_size=", batch)},
                {"C a"}));
    ASSERT_OK_AND_ASSIGN(const int64_t both,
                         ColocatedPeakBytes(profile, shape));
    EXPECT_EQ(both, (350 + 2 * batch) * kMemoryMiB + 3 * batch * kImage +
                        3 * kCritic);
  }
}

// A line through noisy peaks would predict negative memory.
TEST(MemoryModelTest, ColocatedWorkersNeedTheirLargerPass) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 0)
      .Memory(DISCRIMINATOR, 200 * kMemoryMiB, 0);
  Profile profile = builder.Build();
  for (const int64_t batch : {32, 64}) {
    // 1 MiB less with 64 images.
    AddColocatedPeak(batch, (352 - batch / 32) * kMemoryMiB, profile);
  }
  ASSERT_OK_AND_ASSIGN(
      const RunShape shape,
      ShapeOf(profile,
              {"generator.batch_size=1024", "discriminator.batch_size=1024"},
              {"C a"}));
  ASSERT_OK_AND_ASSIGN(const int64_t both, ColocatedPeakBytes(profile, shape));
  EXPECT_EQ(both, 350.5 * kMemoryMiB + 3 * 1024 * kImage + 3 * kCritic);
}

// Ranks of two hosts share no memory. Shared memory for large sums is limited.
TEST(MemoryModelTest, RanksOfOneHostShareMemory) {
  const Profile profile = ProfileBuilder().Build();
  const std::vector<std::string> sets = {"discriminator.workers=2",
                                         "schedule.feedback=IMAGE_GRADIENT"};
  ASSERT_OK_AND_ASSIGN(RunShape together,
                       ShapeOf(profile, sets, {"G a", "D a", "D a"}));
  RunShape apart = together;
  apart.hosts.push_back(apart.hosts.front());
  apart.processes[apart.discriminator.processes[1]].host = 1;
  const auto shared = [&] {
    return PlannedBytes(together, DISCRIMINATOR) -
           PlannedBytes(apart, DISCRIMINATOR);
  };
  EXPECT_EQ(shared(), kCritic);  // the gradients
  for (RunShape* const shape : {&together, &apart}) {
    shape->discriminator.state.set_parameter_bytes(300 * kMemoryMiB);
  }
  EXPECT_EQ(shared(), 2 * 4 * 4 * kMemoryMiB);
}

// Adds GPU memory to all probes: 500 MiB, and `mib_an_image` per image.
void PutOnGpu(int64_t mib_an_image, Profile& profile) {
  for (Probe& probe : *profile.mutable_probes()) {
    DeviceMemory& memory = *probe.mutable_device_memory();
    memory.set_resting_bytes(500 * kMemoryMiB);
    memory.set_peak_bytes((500 + mib_an_image * probe.settings().batch_size()) *
                          kMemoryMiB);
  }
}

const std::vector<std::string> kOnGpus = {"generator.device=cuda",
                                          "discriminator.device=cuda"};

// Images and critics wait in host memory, which is not counted.
TEST(MemoryModelTest, OnGpusThePeakIsThatOfGpuMemory) {
  Profile profile = ProfileBuilder().Build();
  PutOnGpu(3, profile);
  std::vector<std::string> sets = kOnGpus;
  sets.push_back("discriminator.workers=2");
  ASSERT_OK_AND_ASSIGN(const RunShape shape,
                       ShapeOf(profile, sets, {"G a", "D a", "D a"}));
  ASSERT_OK_AND_ASSIGN(const int64_t generator,
                       PeakBytes(profile, shape, GENERATOR));
  EXPECT_EQ(generator, (500 + 3 * 64) * kMemoryMiB);
  ASSERT_OK_AND_ASSIGN(const int64_t discriminator,
                       PeakBytes(profile, shape, DISCRIMINATOR));
  EXPECT_EQ(discriminator, (500 + 3 * 32 + 4) * kMemoryMiB);
  // One size: the line goes through the memory before the first round.
  for (Probe& probe : *profile.mutable_probes()) {
    if (probe.settings().batch_size() == 16) {
      probe.set_outcome(Probe::DIED);
    }
  }
  ASSERT_OK_AND_ASSIGN(const MemoryLine line,
                       FitMemory(profile, shape.generator.settings));
  EXPECT_EQ(line.At(128), (500 + 3 * 128) * kMemoryMiB);
}

TEST(MemoryModelTest, ColocatedWorkerOnAGpu) {
  Profile profile = ProfileBuilder().Build();
  AddColocatedPeak(/*batch=*/64, 0, profile);
  PutOnGpu(3, profile);
  ASSERT_OK_AND_ASSIGN(const RunShape shape,
                       ShapeOf(profile, kOnGpus, {"C a"}));
  ASSERT_OK_AND_ASSIGN(const int64_t both, ColocatedPeakBytes(profile, shape));
  EXPECT_EQ(both, (500 + 3 * 64) * kMemoryMiB);
}

// Each precision has its own kernels, which probes in another precision lack.
TEST(MemoryModelTest, ColocatedWorkersInTwoPrecisionsAreNoProbe) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB)
      .Memory(DISCRIMINATOR, 200 * kMemoryMiB, kMemoryMiB);
  Profile profile = builder.Build();
  ASSERT_OK_AND_ASSIGN(RunShape shape, ShapeOf(profile, {}, {"C a"}));
  ASSERT_OK_AND_ASSIGN(const int64_t apart, ColocatedPeakBytes(profile, shape));
  Probe& probe = *profile.add_probes();
  probe = profile.probes(0);
  probe.mutable_settings()->set_role(COLOCATED);
  probe.set_peak_bytes(probe.peak_bytes() + kMemoryMiB);
  ASSERT_OK_AND_ASSIGN(const int64_t probed,
                       ColocatedPeakBytes(profile, shape));
  EXPECT_NE(probed, apart);
  for (int i = 0; i + 1 < profile.probes_size(); ++i) {
    ProbeSettings& settings = *profile.mutable_probes(i)->mutable_settings();
    if (settings.role() == GENERATOR) {
      settings.set_precision(RoleConfig::BFLOAT16);
    }
  }
  shape.generator.settings.precision = RoleConfig::BFLOAT16;
  ASSERT_OK_AND_ASSIGN(const int64_t mixed, ColocatedPeakBytes(profile, shape));
  EXPECT_EQ(mixed, apart);
}

TEST(MemoryModelTest, SlicesMicroBatchesAndBucketsAreCounted) {
  ProfileBuilder builder;
  builder.Memory(GENERATOR, 300 * kMemoryMiB, 2 * kMemoryMiB)
      .Memory(DISCRIMINATOR, 200 * kMemoryMiB, kMemoryMiB);
  const Profile profile = builder.Build();
  ASSERT_OK_AND_ASSIGN(
      const RunShape shape,
      ShapeOf(
          profile,
          {"generator.workers=2", "generator.micro_batch=8",
           "discriminator.micro_batch=16", "schedule.feedback=IMAGE_GRADIENT",
           "generator.sync.wire=BFLOAT16"},
          {"G a", "G a", "D a"}));
  // The graphs of all micro-batches of the slice, buckets of 2 bytes per value,
  // and the shared memory through which ranks of one host pass the buckets.
  ASSERT_OK_AND_ASSIGN(const int64_t generator,
                       PeakBytes(profile, shape, GENERATOR));
  EXPECT_EQ(generator,
            (300 + 32 * 2) * kMemoryMiB + 2 * 2 * kMemoryMiB + 2 * 32 * kImage);
  // The graph of one micro-batch, two waiting rounds, and one round of answers.
  ASSERT_OK_AND_ASSIGN(const int64_t discriminator,
                       PeakBytes(profile, shape, DISCRIMINATOR));
  EXPECT_EQ(discriminator, (200 + 16) * kMemoryMiB + 3 * 64 * kImage);
}

}  // namespace
}  // namespace gandem
