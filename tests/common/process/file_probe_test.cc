// SPDX-License-Identifier: Apache-2.0
#include "common/process/file_probe.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

// This program's own stat(): a file of this name is on a mount that hangs.
extern "C" int stat(const char* path, struct stat* info) noexcept {
  while (absl::EndsWith(path, "/hangs")) pause();
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, info, 0));
}

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Minutes(1);

TEST(FileProbeTest, FilesAndFoldersCanBeOpened) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "file", "x"));
  ASSERT_OK(WriteFile(dir / "empty", ""));
  EXPECT_OK(ProbeFile(dir / "file", kLong));
  EXPECT_OK(ProbeFile(dir / "empty", kLong));
  EXPECT_OK(ProbeFile(dir.path(), kLong));
}

TEST(FileProbeTest, WhatIsNotThereIsNamed) {
  EXPECT_THAT(ProbeFile("/nonexistent/images", kLong),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("'/nonexistent/images'")));
}

TEST(FileProbeTest, APipeOrADeviceIsRefusedWithoutOpeningIt) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ProbeFile(pipe, kLong),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(pipe), HasSubstr("a named pipe"))));
  EXPECT_THAT(ProbeFile("/dev/null", kLong),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'/dev/null' is a device")));
}

TEST(FileProbeTest, AMountThatHangsIsGivenUp) {
  EXPECT_THAT(ProbeFile("/mnt/hangs", absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("'/mnt/hangs'"), HasSubstr("50ms"))));
}

}  // namespace
}  // namespace gandem
