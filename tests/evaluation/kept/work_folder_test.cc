// SPDX-License-Identifier: Apache-2.0
#include "evaluation/kept/work_folder.h"

#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

TEST(WorkFolderTest, WhatIsLeftIsFoundAgain) {
  const gandem::testing::TempDir dir;
  {
    ASSERT_OK_AND_ASSIGN(const WorkFolder work,
                         WorkFolder::Take(dir.path(), "key"));
    EXPECT_EQ(work.path(), dir / "key");
    ASSERT_OK(WriteFile(work.path() + "/slice", "x"));
  }
  ASSERT_OK_AND_ASSIGN(const WorkFolder again,
                       WorkFolder::Take(dir.path(), "key"));
  EXPECT_EQ(again.path(), dir / "key");
  EXPECT_TRUE(PathExists(dir / "key/slice"));
}

TEST(WorkFolderTest, TwoJobsHaveTwoFolders) {
  const gandem::testing::TempDir dir;
  ASSERT_OK_AND_ASSIGN(WorkFolder first, WorkFolder::Take(dir.path(), "key"));
  ASSERT_OK_AND_ASSIGN(const WorkFolder second,
                       WorkFolder::Take(dir.path(), "key"));
  EXPECT_EQ(second.path(), dir / "key.2");
  ASSERT_OK(WriteFile(second.path() + "/slice", "x"));
  ASSERT_OK(first.Remove());
  EXPECT_FALSE(PathExists(dir / "key"));
  EXPECT_TRUE(PathExists(dir / "key.2/slice"));
  ASSERT_OK_AND_ASSIGN(const WorkFolder third,
                       WorkFolder::Take(dir.path(), "key"));
  EXPECT_EQ(third.path(), dir / "key");
}

}  // namespace
}  // namespace gandem
