// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/profile_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ProfileLockTest, TheSecondIsToldWhoTheFirstIs) {
  const TempDir folder;
  const std::string profile = folder / "m.profile";
  {
    ASSERT_OK_AND_ASSIGN(const ProfileLock first, ProfileLock::Take(profile));
    EXPECT_THAT(ProfileLock::Take(profile).status(),
                StatusIs(absl::StatusCode::kAlreadyExists,
                         AllOf(HasSubstr("m.profile"),
                               HasSubstr(absl::StrCat("process ", getpid())))));
    EXPECT_OK(ProfileLock::Take(folder / "other.profile"));
  }
  EXPECT_FALSE(PathExists(profile + ".lock"));
  EXPECT_OK(ProfileLock::Take(profile));
}

TEST(ProfileLockTest, WhatAKilledProcessLeftIsNoLock) {
  const TempDir folder;
  ASSERT_OK(WriteFile(folder / "m.profile.lock", "process 1 on nowhere\n"));
  EXPECT_OK(ProfileLock::Take(folder / "m.profile"));
}

}  // namespace
}  // namespace gandem
