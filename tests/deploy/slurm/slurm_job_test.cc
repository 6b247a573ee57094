// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

SlurmJob SmallSlurmJob() {
  return {.name = "small",
          .run_dir = "/nfs/a",
          .binary_folder = "/opt/gandem/bin",
          .generators = {.workers = 1},
          .discriminators = {.workers = 2},
          .heterogeneous = true};
}

// The forms of sbatch(1), --time.
TEST(SlurmTimeTest, AllForms) {
  const std::pair<const char*, absl::Duration> cases[] = {
      {"90", absl::Minutes(90)},
      {"2:30", absl::Seconds(150)},
      {"8:00:00", absl::Hours(8)},
      {"1-12", absl::Hours(36)},
      {"1-12:30", absl::Hours(36) + absl::Minutes(30)},
      {"1-00:00:01", absl::Hours(24) + absl::Seconds(1)}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(ParseSlurmTime(text).value_or(absl::ZeroDuration()), expected)
        << text;
  }
}

TEST(SlurmTimeTest, OthersAreRefused) {
  for (const char* const text :
       {"", "0", "-1", "1h", "1:2:3:4", "1-2-3", ":5", "5:", "1-", "-5", "+5",
        " 5", "99999999999999999999", "1.5"}) {
    EXPECT_EQ(ParseSlurmTime(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(SlurmJobTest, ASmallOneIsFine) {
  EXPECT_OK(CheckSlurmJob(SmallSlurmJob()));
  EXPECT_EQ(SlurmScriptPath("/nfs/a"), "/nfs/a/slurm/job.sbatch");
}

TEST(SlurmJobTest, AHeterogeneousJobOnOneNodeWouldWaitForEver) {
  SlurmJob job = SmallSlurmJob();
  job.generators.most_nodes = 1;
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              AllOf(HasSubstr("--layout het"), HasSubstr("--layout one")));
  job.discriminators.most_nodes = 2;
  EXPECT_OK(CheckSlurmJob(job));
  job.discriminators.most_nodes = 3;
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              HasSubstr("--nodes 4 is more than the 3 workers"));
}

// A job whose signal comes at its start would be requeued without end.
TEST(SlurmJobTest, TheTimeHoldsMoreThanTheLastCheckpoint) {
  SlurmJob job = SmallSlurmJob();
  job.time = "3";
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              AllOf(HasSubstr("--time 3"), HasSubstr("more than 3m")));
  job.time = "3:01";
  EXPECT_OK(CheckSlurmJob(job));
  job.time = "soon";
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              HasSubstr("--time 'soon'"));
}

// Slurm replaces % in names of files, and a shell reads the rest.
TEST(SlurmJobTest, NamesAreOfPlainLettersAndAllFaultsAreNamed) {
  SlurmJob job = SmallSlurmJob();
  job.run_dir = "/nfs/my runs";
  job.partition = "gpu;id";
  job.account = "100%";
  EXPECT_THAT(
      std::string(CheckSlurmJob(job).message()),
      AllOf(HasSubstr("--run_dir '/nfs/my runs'"),
            HasSubstr("--partition 'gpu;id'"), HasSubstr("--account '100%'")));
}

}  // namespace
}  // namespace gandem
