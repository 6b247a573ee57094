// SPDX-License-Identifier: Apache-2.0
//
// Tests with shell scripts in place of Slurm's programs.
#include "deploy/slurm/slurm_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SlurmToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const path = getenv("PATH");
    old_path_ = path == nullptr ? "" : path;
    ASSERT_EQ(setenv("PATH", (programs_.path() + ":/usr/bin:/bin").c_str(), 1),
              0);
  }
  void TearDown() override { setenv("PATH", old_path_.c_str(), 1); }

  void Install(const std::string& name, const std::string& script) {
    const std::string path = programs_ / name;
    ASSERT_OK(WriteFile(path, absl::StrCat("#!/bin/sh\n", script, "\n")));
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }

  TempDir programs_;
  std::string old_path_;
};

TEST_F(SlurmToolsTest, TheScriptIsSubmitted) {
  Install("sbatch",
          "echo warning >&2; [ \"$*\" = '--parsable /nfs/job.sbatch' ] "
          "&& echo '17;alpha'");
  const auto job = SubmitSlurmJob("/nfs/job.sbatch");
  ASSERT_OK(job);
  EXPECT_EQ(*job, 17);
}

TEST_F(SlurmToolsTest, ARefusalIsReportedInSlurmsWords) {
  Install("sbatch",
          "echo 'sbatch: error: invalid partition specified: gpu' >&2; exit 1");
  const absl::Status refused = SubmitSlurmJob("/nfs/job.sbatch").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("exited with code 1"),
                    HasSubstr("invalid partition specified: gpu")));
}

TEST_F(SlurmToolsTest, WithoutSlurmTheErrorSaysWhereToRun) {
  ASSERT_EQ(setenv("PATH", programs_.path().c_str(), 1), 0);
  const absl::Status missing = SubmitSlurmJob("/nfs/job.sbatch").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("no sbatch"), HasSubstr("--dry_run")));
}

TEST_F(SlurmToolsTest, AnAnswerWithoutAJobNumberIsShown) {
  Install("sbatch", "echo 'Submitted, thank you'");
  EXPECT_THAT(std::string(SubmitSlurmJob("/nfs/job.sbatch").status().message()),
              HasSubstr("has not named a job: 'Submitted, thank you"));
}

TEST_F(SlurmToolsTest, AJobIsFoundByItsComment) {
  Install("squeue",
          "[ \"$*\" = '--me --noheader --format=%i %k' ] && "
          "printf '16 gandem:/nfs/a\\n17+0 gandem:/nfs/a\\n"
          "17+1 (null)\\n18 gandem:/nfs/ab\\n'");
  const auto found = FindSlurmJob("gandem:/nfs/a");
  ASSERT_OK(found);
  EXPECT_EQ(*found, std::optional<int64_t>(17));
  const auto none = FindSlurmJob("gandem:/nfs/b");
  ASSERT_OK(none);
  EXPECT_EQ(*none, std::nullopt);
  Install("squeue", "echo 'squeue: error: Unable to contact' >&2; exit 1");
  EXPECT_FALSE(FindSlurmJob("gandem:/nfs/a").ok());
}

}  // namespace
}  // namespace gandem
