// SPDX-License-Identifier: Apache-2.0
#include "common/programs/core_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/process/cores.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Core c has the hardware threads 2c and 2c + 1.
constexpr char kTwoNodes[] = "numa:2 core:4 pu:2";
constexpr char kCaches[] = "numa:1 l3:4 core:2 pu:1";
constexpr char kFlat[] = "pu:4";

std::vector<int> UpTo(int count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Returns one worker per number, with that many threads.
std::map<WorkerKey, int> Threads(const std::vector<int>& numbers) {
  std::map<WorkerKey, int> threads;
  for (const int number : numbers) {
    threads[{GENERATOR, static_cast<int>(threads.size())}] = number;
  }
  return threads;
}

// Returns the cores of each worker as text: "0-1 2-3".
std::string Plan(const CoreGroup& machine, const std::vector<int>& threads) {
  const auto plan = PlanCores(machine, Threads(threads));
  if (!plan.ok()) return std::string(plan.status().message());
  std::string text;
  for (const auto& [worker, cores] : *plan) {
    if (!text.empty()) text += ' ';
    text += CoresText(cores);
  }
  return text;
}
// Some containers hide the topology of a core.
TEST(CorePlanTest, CpusUnknownToHwlocAreSeparateCores) {
  const CoreGroup machine = ReadMachine(std::vector<int>{0, 1, 9}, kFlat);
  ASSERT_EQ(machine.parts.size(), 2);
  EXPECT_EQ(machine.parts[0].parts.size(), 2);
  EXPECT_THAT(machine.parts[1].hardware_threads, ElementsAre(9));
  EXPECT_EQ(Plan(ReadMachine(UpTo(2), "not a machine"), {1, 1}), "0 1");
}

class PlannedMachineTest : public ::testing::Test {
 protected:
  const CoreGroup two_nodes_ = ReadMachine(UpTo(16), kTwoNodes);
  const CoreGroup caches_ = ReadMachine(UpTo(8), kCaches);
  const CoreGroup flat_ = ReadMachine(UpTo(4), kFlat);
};

TEST_F(PlannedMachineTest, WorkersGetWholeCoresOfOneNode) {
  EXPECT_EQ(Plan(two_nodes_, {4, 4}), "0-7 8-15");
  EXPECT_EQ(Plan(two_nodes_, {2, 2, 2, 2}), "0-3 4-7 8-11 12-15");
}

TEST_F(PlannedMachineTest, LargerWorkersChooseFirst) {
  // In order of rank, the last worker would get 2 + 1 cores in two nodes.
  EXPECT_EQ(Plan(two_nodes_, {1, 4, 3}), "14-15 0-7 8-13");
}

TEST_F(PlannedMachineTest, ThreadsOfACoreAreSplitOnlyIfCoresAreShort) {
  EXPECT_EQ(Plan(two_nodes_, {8, 8}), "0-7 8-15");
  EXPECT_EQ(Plan(two_nodes_, {1, 8, 4}), "12 0-7 8-11");
  const CoreGroup one = ReadMachine(UpTo(2), "core:1 pu:2");
  EXPECT_EQ(Plan(one, {1}), "0-1");
  EXPECT_EQ(Plan(one, {1, 1}), "0 1");
}

TEST_F(PlannedMachineTest, CoresThatShareACacheAreAssignedTogether) {
  EXPECT_EQ(Plan(caches_, {2, 1, 1, 2, 2}), "0-1 6 7 2-3 4-5");
  // The large worker gets caches 0 and 1; the small one splits no cache.
  EXPECT_EQ(Plan(caches_, {1, 4, 3}), "7 0-3 4-6");
}

TEST_F(PlannedMachineTest, RemainingCoresAreDistributed) {
  EXPECT_EQ(Plan(flat_, {1, 1}), "0-1 2-3");
  EXPECT_EQ(Plan(flat_, {2, 1}), "0-1 2");
  EXPECT_EQ(Plan(two_nodes_, {1, 1}), "0-7 8-15");
}

TEST_F(PlannedMachineTest, RemainingCoresStayWithinANode) {
  // Three cores are left, one per worker; but the last worker would then have a
  // core in both nodes.
  const CoreGroup machine = ReadMachine(UpTo(6), "numa:2 core:3 pu:1");
  EXPECT_EQ(Plan(machine, {1, 1, 1}), "0 1 2");
}

TEST_F(PlannedMachineTest, OnlyAllowedCoresAreAssigned) {
  const CoreGroup machine =
      ReadMachine(std::vector<int>{2, 3, 5, 8, 9, 11}, kTwoNodes);
  EXPECT_EQ(Plan(machine, {2, 2}), "2-3,5 8-9,11");
}

TEST_F(PlannedMachineTest, TooManyThreadsAreAnError) {
  EXPECT_THAT(PlanCores(flat_, Threads({2, 2, 1})),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("3 workers have 5 compute threads, and 4 "
                                 "cores are there")));
}

TEST(WorkerCoresTest, EachWorkerHasCoresForItsThreads) {
  const std::map<WorkerKey, int> threads = {{{GENERATOR, 0}, 1},
                                            {{DISCRIMINATOR, 0}, 3}};
  ASSERT_OK_AND_ASSIGN(const WorkerCores cores,
                       PlanCores(ReadMachine(UpTo(4), kFlat), threads));
  EXPECT_EQ(ToString(cores), "generator 0 on 3, discriminator 0 on 0-2");
}

TEST(WorkerCoresTest, ThisMachineHasTheAllowedCores) {
  const std::vector<int> allowed = AllowedCores();
  const CoreGroup machine = ReadMachine(allowed);
  // There are as many workers as cores: each gets one.
  const auto plan =
      PlanCores(machine, Threads(std::vector<int>(allowed.size(), 1)));
  ASSERT_OK(plan);
  std::vector<int> given;
  for (const auto& [worker, cores] : *plan) {
    given.insert(given.end(), cores.begin(), cores.end());
  }
  EXPECT_THAT(given, ::testing::UnorderedElementsAreArray(allowed));
}

}  // namespace
}  // namespace gandem
