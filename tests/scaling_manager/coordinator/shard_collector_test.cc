// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/shard_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using State = ShardCollector::State;
using ::gandem::testing::StatusIs;
using ::testing::HasSubstr;

ShardReport Files(int64_t step, const std::vector<std::string>& names) {
  ShardReport report;
  report.set_step(step);
  for (const std::string& name : names) report.add_files()->set_name(name);
  return report;
}

ShardReport Failed(int64_t step, const std::string& error) {
  ShardReport report;
  report.set_step(step);
  report.set_error(error);
  return report;
}

TEST(ShardCollectorTest, StepsAreCollectedIndependently) {
  ShardCollector shards(2, 100);
  EXPECT_EQ(*shards.Add(0, Files(10, {"b"})), State::kIncomplete);
  EXPECT_EQ(*shards.Add(0, Files(20, {"b"})), State::kIncomplete);
  EXPECT_EQ(*shards.Add(1, Files(10, {"a", "c"})), State::kComplete);
  const auto files = shards.Files(10);
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(files[0].name(), "a");
  EXPECT_EQ(files[1].name(), "b");
  EXPECT_EQ(files[2].name(), "c");
  shards.Settle(10);
  EXPECT_TRUE(shards.Files(10).empty());
  EXPECT_EQ(*shards.Add(1, Files(20, {"a"})), State::kComplete);
}

TEST(ShardCollectorTest, AnErrorWaitsForTheOthersToo) {
  ShardCollector shards(2, 100);
  EXPECT_EQ(*shards.Add(1, Failed(10, "disk full")), State::kIncomplete);
  EXPECT_EQ(*shards.Add(0, Files(10, {"a"})), State::kFailed);
  EXPECT_EQ(shards.Error(10), "disk full");
}

TEST(ShardCollectorTest, SettlingCoversOlderSteps) {
  ShardCollector shards(2, 100);
  EXPECT_EQ(*shards.Add(0, Files(10, {"a"})), State::kIncomplete);
  EXPECT_EQ(*shards.Add(0, Files(20, {"a"})), State::kIncomplete);
  shards.Settle(20);
  EXPECT_TRUE(shards.Files(10).empty());
}

TEST(ShardCollectorTest, OneWorkerCompletesByItself) {
  ShardCollector shards(1, 100);
  EXPECT_EQ(*shards.Add(0, Files(100, {"a"})), State::kComplete);
}

TEST(ShardCollectorTest, EveryFaultIsNamed) {
  ShardCollector shards(2, 100);
  ShardReport report = Files(101, {"x/y", "a", "a", ".hidden"});
  report.mutable_files(1)->set_size(-1);
  EXPECT_THAT(shards.Add(0, report),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("step 101 is not in [1, 100]"),
                             HasSubstr("'x/y' cannot be a shard's name"),
                             HasSubstr("'a' was reported before"),
                             HasSubstr("'.hidden' cannot be"),
                             HasSubstr("'a' has -1 bytes"))));
  EXPECT_THAT(shards.Add(0, Files(5, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither files nor an error")));
  EXPECT_EQ(*shards.Add(1, Files(5, {"a"})), State::kIncomplete);
}

}  // namespace
}  // namespace gandem
