// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SlurmJob ScriptedJob() {
  return {.name = "small",
          .run_dir = "/nfs/a",
          .binary_folder = "/opt/gandem/bin",
          .work_dir = "/home/me",
          .what = {"/nfs/a/slurm/recipe.textproto", "--set", "name=\"it's\""},
          .workers = 3,
          .generator_cpus = 2,
          .discriminator_cpus = 4,
          .allocation = {.nodes = 2, .partition = "main", .time = "8:00:00"}};
}

// Returns the options that sbatch reads, in the order of the script.
std::vector<std::string> SbatchLines(const std::string& script) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    if (absl::StartsWith(line, "#SBATCH ")) {
      lines.emplace_back(line.substr(std::string("#SBATCH ").size()));
    }
  }
  return lines;
}

TEST(BatchScriptTest, OneAllocationHoldsAllWorkers) {
  SlurmJob job = ScriptedJob();
  job.allocation.gpus_per_worker = 1;
  const std::string script = BatchScript(job);
  EXPECT_THAT(
      SbatchLines(script),
      ElementsAre("--job-name=small", "--comment=gandem:/nfs/a",
                  "--output=/nfs/a/slurm/job-%j.log", "--chdir=/home/me",
                  "--open-mode=append", "--requeue", "--signal=B:USR2@120",
                  "--no-kill", "--partition=main", "--time=8:00:00",
                  "--nodes=2", "--ntasks=3", "--cpus-per-task=4",
                  "--gpus-per-task=1"));
  EXPECT_THAT(script, HasSubstr("--cpus-per-task=\"$cpus\" --gpus-per-task=1"));
}

TEST(BatchScriptTest, EveryPlaceholderIsFilledIn) {
  const std::string script = BatchScript(ScriptedJob());
  EXPECT_THAT(script, Not(HasSubstr("__")));
  EXPECT_THAT(script, Not(HasSubstr("#@")));
  EXPECT_THAT(script, HasSubstr("trap 'stop limit' USR2\n"));
  EXPECT_THAT(script, HasSubstr("what=(/nfs/a/slurm/recipe.textproto --set "
                                "'name=\"it'\\''s\"')\n"));
}

TEST(BatchScriptTest, TheNetworkIsEncryptedUnlessItIsTrusted) {
  SlurmJob job = ScriptedJob();
  EXPECT_THAT(BatchScript(job), Not(HasSubstr("--insecure_network")));
  job.allocation.insecure_network = true;
  EXPECT_THAT(BatchScript(job),
              HasSubstr("--listen \"$SLURMD_NODENAME:0\" --insecure_network "
                        "--start_by"));
}

TEST(BatchScriptTest, MonitoringFollowsTheUsersOptions) {
  SlurmJob job = ScriptedJob();
  EXPECT_THAT(BatchScript(job), HasSubstr("--start_by \"$script\" &\n"));
  job.allocation.metrics_port = 0;
  EXPECT_THAT(BatchScript(job),
              HasSubstr("--start_by \"$script\" \\\n"
                        "  --metrics_listen \"$SLURMD_NODENAME:0\" &\n"));
  job.allocation.log_format = "json";
  EXPECT_THAT(BatchScript(job),
              HasSubstr(" \"$SLURMD_NODENAME:0\" --log_format json &\n"));
}

TEST(ShellQuotedTest, AShellReadsTheSameWord) {
  EXPECT_EQ(ShellQuoted("a/b-c.d"), "a/b-c.d");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("two words"), "'two words'");
  EXPECT_EQ(ShellQuoted("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellQuoted("it's"), R"('it'\''s')");
}

TEST(SlurmJobTest, ASmallJobIsValid) {
  EXPECT_OK(CheckSlurmJob(ScriptedJob()));
  EXPECT_EQ(SlurmScriptPath("/nfs/a"), "/nfs/a/slurm/job.sbatch");
}

TEST(SlurmJobTest, EachNodeHasAWorker) {
  SlurmJob job = ScriptedJob();
  job.allocation.nodes = 4;
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              HasSubstr("--nodes 4 is more than the 3 workers"));
}

// Slurm replaces % in file names, and a shell reads the rest.
TEST(SlurmJobTest, NamesHavePlainLettersAndAllFaultsAreListed) {
  SlurmJob job = ScriptedJob();
  job.run_dir = "/nfs/my runs";
  job.allocation.partition = "gpu;id";
  job.allocation.account = "100%";
  job.allocation.time = "1 h";
  EXPECT_THAT(std::string(CheckSlurmJob(job).message()),
              AllOf(HasSubstr("--run_dir '/nfs/my runs'"),
                    HasSubstr("--partition 'gpu;id'"),
                    HasSubstr("--account '100%'"), HasSubstr("--time '1 h'")));
}

}  // namespace
}  // namespace gandem
