// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/checkpoint_commits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Time kNow = absl::UnixEpoch();

ShardReport Files(int64_t step, const std::vector<std::string>& names) {
  ShardReport report;
  report.set_step(step);
  for (const std::string& name : names) report.add_files()->set_name(name);
  return report;
}

class CheckpointCommitsTest : public ::testing::Test {
 protected:
  CheckpointCommitsTest() { commits_.BeginEpoch(3, 2, /*committed_step=*/2); }
  bool Add(int worker, int64_t step, const std::string& error = "") {
    ShardReport report;
    report.set_step(step);
    report.set_error(error);
    if (error.empty()) report.add_files()->set_name(absl::StrCat("f", worker));
    const absl::StatusOr<bool> is_new = commits_.Add(worker, report);
    EXPECT_OK(is_new);
    return is_new.ok() && *is_new;
  }
  void AddAll(int64_t step) {
    EXPECT_TRUE(Add(0, step));
    EXPECT_TRUE(Add(1, step));
  }

  CheckpointCommits commits_{10};
};

TEST_F(CheckpointCommitsTest, ACheckpointIsCommittedOnceAllHaveReported) {
  EXPECT_TRUE(Add(1, 4));
  EXPECT_FALSE(commits_.is_busy());
  EXPECT_FALSE(commits_.Take(kNow).has_value());
  EXPECT_TRUE(Add(0, 4));
  EXPECT_TRUE(commits_.is_busy());
  const auto job = commits_.Take(kNow);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->step, 4);
  EXPECT_EQ(job->run_epoch, 3);
  EXPECT_EQ(job->files.size(), 2);
  EXPECT_OK(job->shards);
  EXPECT_EQ(commits_.committed_step(), 2);  // not on disk yet
  EXPECT_EQ(commits_.Settle(*job, absl::OkStatus()),
            "checkpoint of 4 rounds is complete");
  EXPECT_EQ(commits_.committed_step(), 4);
  EXPECT_FALSE(commits_.is_busy());
}

TEST_F(CheckpointCommitsTest, ARepeatedReportCommitsNothingTwice) {
  AddAll(4);
  EXPECT_FALSE(Add(1, 4));  // waits
  const auto job = commits_.Take(kNow);
  ASSERT_TRUE(job.has_value());
  EXPECT_FALSE(Add(1, 4));  // is being committed
  EXPECT_FALSE(commits_.Take(kNow).has_value());
  commits_.Settle(*job, absl::OkStatus());
  EXPECT_FALSE(Add(1, 4));  // is done
  EXPECT_FALSE(commits_.is_busy());
}

TEST_F(CheckpointCommitsTest, ACommitWaitsForTheOneBefore) {
  AddAll(4);
  const auto first = commits_.Take(kNow);
  ASSERT_TRUE(first.has_value());
  AddAll(6);
  EXPECT_FALSE(commits_.Take(kNow).has_value());
  commits_.Settle(*first, absl::OkStatus());
  EXPECT_TRUE(commits_.is_busy());
  const auto second = commits_.Take(kNow);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->step, 6);
}

TEST_F(CheckpointCommitsTest, AnAbandonedCheckpointStaysAbandonedInItsEpoch) {
  AddAll(4);
  const auto job = commits_.Take(kNow);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(commits_.Settle(*job, absl::DataLossError("another size")),
            "the checkpoint of 4 rounds could not be written: another size");
  EXPECT_EQ(commits_.committed_step(), 2);
  EXPECT_EQ(commits_.settled_step(), 4);
  EXPECT_FALSE(Add(1, 4));
  EXPECT_FALSE(commits_.is_busy());
  EXPECT_EQ(commits_.NewestText(), "The newest checkpoint has 2 of 10 rounds");
  commits_.BeginEpoch(4, 1, commits_.committed_step());
  EXPECT_EQ(commits_.settled_step(), 2);
  EXPECT_TRUE(Add(0, 4));
  EXPECT_TRUE(commits_.is_busy());
}

TEST_F(CheckpointCommitsTest, AShardErrorReachesTheCommit) {
  EXPECT_TRUE(Add(0, 4, "disk full"));
  EXPECT_FALSE(commits_.is_busy());  // waits for the other shards
  EXPECT_TRUE(Add(1, 4));
  const auto job = commits_.Take(kNow);
  ASSERT_TRUE(job.has_value());
  EXPECT_THAT(job->shards, StatusIs(absl::StatusCode::kDataLoss, "disk full"));
}

// Later checkpoints have the same fault, even if their checksums are equal
// again.
TEST_F(CheckpointCommitsTest, NoCheckpointFollowsOneWithDifferingStates) {
  const auto add = [this](int64_t step, std::vector<uint32_t> states) {
    for (int rank = 0; rank < 2; ++rank) {
      ShardReport report = Files(step, {absl::StrCat("generator-", rank)});
      report.mutable_files(0)->set_state_crc32c(states[rank]);
      EXPECT_OK(commits_.Add(rank, report));
    }
  };
  add(4, {7, 7});
  add(6, {7, 8});
  add(8, {7, 7});
  auto job = commits_.Take(kNow);
  EXPECT_OK(job->shards);
  EXPECT_FALSE(job->parting.has_value());
  commits_.Settle(*job, job->shards);
  job = commits_.Take(kNow);
  EXPECT_THAT(job->shards,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("generator")));
  ASSERT_TRUE(job->parting.has_value());
  EXPECT_THAT(job->parting->workers, ::testing::ElementsAre(0, 1));
  EXPECT_THAT(job->parting->apart, ::testing::ElementsAre(0, 1));
  commits_.Settle(*job, job->shards);
  job = commits_.Take(kNow);
  EXPECT_THAT(job->shards, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_FALSE(job->parting.has_value());
  commits_.Settle(*job, job->shards);
  EXPECT_EQ(commits_.committed_step(), 4);
  commits_.BeginEpoch(4, 2, commits_.committed_step());
  add(6, {7, 7});
  EXPECT_OK(commits_.Take(kNow)->shards);
}

TEST_F(CheckpointCommitsTest, AnInvalidReportChangesNothing) {
  ShardReport report;
  report.set_step(11);
  EXPECT_THAT(commits_.Add(0, report),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("step 11 is not in [1, 10]")));
  report.set_step(0);
  EXPECT_THAT(commits_.Add(0, report),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_FALSE(commits_.is_busy());
}

TEST_F(CheckpointCommitsTest, StepsAreCollectedIndependently) {
  EXPECT_OK(commits_.Add(0, Files(4, {"b"})));
  EXPECT_OK(commits_.Add(0, Files(6, {"b"})));
  EXPECT_OK(commits_.Add(1, Files(4, {"a", "c"})));
  const auto first = commits_.Take(kNow);
  ASSERT_TRUE(first.has_value());
  ASSERT_EQ(first->files.size(), 3);
  EXPECT_EQ(first->files[0].name(), "a");
  EXPECT_EQ(first->files[1].name(), "b");
  EXPECT_EQ(first->files[2].name(), "c");
  commits_.Settle(*first, absl::OkStatus());
  EXPECT_FALSE(commits_.is_busy());
  EXPECT_OK(commits_.Add(1, Files(6, {"a"})));
  const auto second = commits_.Take(kNow);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->step, 6);
  EXPECT_EQ(second->files.size(), 2);
}

TEST_F(CheckpointCommitsTest, ARequeuedCommitIsTheNextOne) {
  AddAll(4);
  auto job = commits_.Take(kNow);
  ASSERT_TRUE(job.has_value());
  AddAll(6);
  job->next_try = kNow + absl::Seconds(1);
  commits_.PutBack(*std::move(job));
  EXPECT_TRUE(commits_.is_busy());
  EXPECT_FALSE(commits_.Take(kNow).has_value());
  job = commits_.Take(kNow + absl::Seconds(1));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->step, 4);
}

TEST_F(CheckpointCommitsTest, ACompleteCheckpointCoversOlderSteps) {
  EXPECT_TRUE(Add(0, 4));
  EXPECT_TRUE(Add(0, 6));
  EXPECT_TRUE(Add(1, 6));
  EXPECT_EQ(commits_.Take(kNow)->step, 6);
  EXPECT_FALSE(Add(1, 4));
}

TEST_F(CheckpointCommitsTest, EveryFaultOfAReportIsNamed) {
  ShardReport report = Files(11, {"x/y", "a", "a", ".hidden"});
  report.mutable_files(1)->set_size(-1);
  EXPECT_THAT(commits_.Add(0, report),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("step 11 is not in [1, 10]"),
                             HasSubstr("'x/y' cannot be a shard's name"),
                             HasSubstr("'a' was reported before"),
                             HasSubstr("'.hidden' cannot be"),
                             HasSubstr("'a' has -1 bytes"))));
  EXPECT_THAT(commits_.Add(0, Files(5, {})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither files nor an error")));
  EXPECT_OK(commits_.Add(1, Files(5, {"a"})));
  EXPECT_FALSE(commits_.is_busy());
}

}  // namespace
}  // namespace gandem
