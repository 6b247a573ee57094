// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/job_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

// As Slurm 22.05.8 prints it.
constexpr char kSlurmLine[] =
    "JobId=3 HetJobId=3 HetJobOffset=0 HetJobIdSet=3-4 JobName=mlp_smoke "
    "UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=4294901759 Nice=0 "
    "Account=(null) QOS=(null) JobState=PENDING Reason=Resources "
    "Dependency=(null) Requeue=1 Restarts=2 BatchFlag=1 Reboot=0 ExitCode=75:0 "
    "RunTime=00:00:12 TimeLimit=01:00:00 NodeList=n[2-3] BatchHost=n2\n"
    "JobId=4 HetJobId=3 JobState=COMPLETED Reason=None ExitCode=0:0\n";

TEST(SlurmJobStateTest, TheFirstComponentCounts) {
  const auto job = ParseSlurmJobState(kSlurmLine);
  ASSERT_OK(job);
  EXPECT_EQ(job->state, "PENDING");
  EXPECT_EQ(job->reason, "Resources");
  EXPECT_EQ(job->restarts, 2);
  EXPECT_EQ(job->exit_code, 75);
  EXPECT_EQ(job->node, "n2");
  EXPECT_FALSE(job->is_over());
}

TEST(SlurmJobStateTest, WhatIsOver) {
  for (const char* const state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT",
                                  "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY"}) {
    EXPECT_TRUE((SlurmJobState{.state = state}.is_over())) << state;
  }
  for (const char* const state : {"PENDING", "RUNNING", "COMPLETING"}) {
    EXPECT_FALSE((SlurmJobState{.state = state}.is_over())) << state;
  }
}

TEST(SlurmJobStateTest, ASignalIsAnExitCode) {
  const auto job = ParseSlurmJobState("JobState=FAILED ExitCode=0:9");
  ASSERT_OK(job);
  EXPECT_EQ(job->exit_code, 137);
}

TEST(SlurmJobStateTest, OtherTextIsRefused) {
  for (const char* const text :
       {"", "\n", "slurm_load_jobs error: Invalid job id specified",
        "JobState=RUNNING", "JobState= ExitCode=0:0",
        "JobState=RUNNING ExitCode=0", "JobState=RUNNING ExitCode=-1:0",
        "JobState=RUNNING ExitCode=0:0 Restarts=x"}) {
    EXPECT_EQ(ParseSlurmJobState(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(SlurmJobIdTest, WithAndWithoutACluster) {
  EXPECT_EQ(ParseSlurmJobId("17\n").value_or(0), 17);
  EXPECT_EQ(ParseSlurmJobId("18;alpha\n").value_or(0), 18);
  for (const char* const text : {"", "0", "-3", "x", "3 4", ";a"}) {
    EXPECT_EQ(ParseSlurmJobId(text).status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

}  // namespace
}  // namespace gandem
