// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/batch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SlurmJob ScriptedJob() {
  return {.name = "small",
          .run_dir = "/nfs/a",
          .binary_folder = "/opt/gandem/bin",
          .work_dir = "/home/me",
          .what = {"/nfs/a/slurm/recipe.textproto", "--set", "name=\"it's\""},
          .generators = {.workers = 1, .cpus = 2},
          .discriminators = {.workers = 2, .cpus = 4, .most_nodes = 2},
          .heterogeneous = true,
          .partition = "main",
          .time = "8:00:00"};
}

// What sbatch reads, in its order.
std::vector<std::string> SbatchLines(const std::string& script) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(script, '\n')) {
    if (absl::StartsWith(line, "#SBATCH ")) {
      lines.emplace_back(line.substr(std::string("#SBATCH ").size()));
    }
  }
  return lines;
}

TEST(BatchScriptTest, AHeterogeneousJobHasAComponentForEachRole) {
  EXPECT_THAT(SbatchLines(BatchScript(ScriptedJob())),
              ElementsAre("--job-name=small", "--comment=gandem:/nfs/a",
                          "--output=/nfs/a/slurm/job-%j.log",
                          "--chdir=/home/me", "--open-mode=append", "--requeue",
                          "--signal=B:USR2@120", "--partition=main",
                          "--time=8:00:00", "--ntasks=1", "--cpus-per-task=2",
                          "hetjob", "--partition=main", "--time=8:00:00",
                          "--nodes=2", "--ntasks=2", "--cpus-per-task=4"));
}

TEST(BatchScriptTest, OneLayoutHoldsAllWorkers) {
  SlurmJob job = ScriptedJob();
  job.heterogeneous = false;
  job.gpus_per_worker = 1;
  const std::string script = BatchScript(job);
  EXPECT_THAT(
      SbatchLines(script),
      ElementsAre("--job-name=small", "--comment=gandem:/nfs/a",
                  "--output=/nfs/a/slurm/job-%j.log", "--chdir=/home/me",
                  "--open-mode=append", "--requeue", "--signal=B:USR2@120",
                  "--no-kill", "--partition=main", "--time=8:00:00",
                  "--nodes=2", "--ntasks=3", "--cpus-per-task=4",
                  "--gpus-per-task=1"));
  // Slurm refuses it for other jobs.
  EXPECT_THAT(script, Not(HasSubstr("--het-group")));
  EXPECT_THAT(script, HasSubstr("--cpus-per-task=\"$cpus\" --gpus-per-task=1"));
}

TEST(BatchScriptTest, EverythingIsFilledIn) {
  for (const bool heterogeneous : {false, true}) {
    SlurmJob job = ScriptedJob();
    job.heterogeneous = heterogeneous;
    job.signal = "HUP";
    const std::string script = BatchScript(job);
    EXPECT_THAT(script, Not(HasSubstr("__")));
    EXPECT_THAT(script, Not(HasSubstr("#@")));
    EXPECT_THAT(script, HasSubstr("trap 'stop limit' HUP\n"));
    EXPECT_THAT(script, HasSubstr("what=(/nfs/a/slurm/recipe.textproto --set "
                                  "'name=\"it'\\''s\"')\n"));
  }
}

TEST(BatchScriptTest, TheNetworkIsEncryptedUnlessItIsTrusted) {
  SlurmJob job = ScriptedJob();
  EXPECT_THAT(BatchScript(job), Not(HasSubstr("--insecure_network")));
  job.insecure_network = true;
  EXPECT_THAT(BatchScript(job),
              HasSubstr("--listen \"$SLURMD_NODENAME:0\" --insecure_network "
                        "--start_by"));
}

TEST(BatchScriptTest, IsWatchedAsItsUserSays) {
  SlurmJob job = ScriptedJob();
  EXPECT_THAT(BatchScript(job), HasSubstr("--start_by \"$script\" &\n"));
  job.metrics_port = 0;
  EXPECT_THAT(BatchScript(job),
              HasSubstr("--start_by \"$script\" \\\n"
                        "  --metrics_listen \"$SLURMD_NODENAME:0\" &\n"));
  job.log_format = "json";
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

}  // namespace
}  // namespace gandem
