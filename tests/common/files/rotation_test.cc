// SPDX-License-Identifier: Apache-2.0
#include "common/files/rotation.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::ElementsAre;

TEST(RotationTest, TheNumberPrecedesTheExtension) {
  EXPECT_EQ(RotatedName("runs/a.b/metrics.jsonl", 1),
            "runs/a.b/metrics.1.jsonl");
  EXPECT_EQ(RotatedName("log", 12), "log.12");
}

TEST(RotationTest, OlderFilesMoveUpAndTheOldestIsRemoved) {
  const TempDir dir;
  const std::string path = dir / "a.log";
  for (const char* const text : {"first", "second", "third", "fourth"}) {
    ASSERT_OK(RotateFile(path, 2));
    ASSERT_OK(WriteFile(path, text));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names,
                       ListDirectory(dir.path()));
  EXPECT_THAT(names, ElementsAre("a.1.log", "a.2.log", "a.log"));
  EXPECT_EQ(ReadFile(dir / "a.1.log").value(), "third");
  EXPECT_EQ(ReadFile(dir / "a.2.log").value(), "second");
}

TEST(RotationTest, AMissingFileMovesNothing) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a.1.log", "older"));
  ASSERT_OK(RotateFile(dir / "a.log", 2));
  EXPECT_EQ(ReadFile(dir / "a.1.log").value(), "older");
}

TEST(RotationTest, WritersWithTheFileOpenContinueInIt) {
  const TempDir dir;
  const std::string path = dir / "a.log";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  ASSERT_EQ(write(fd, "before\n", 7), 7);
  ASSERT_OK(RotateOpenFile(path, 2));
  ASSERT_EQ(write(fd, "after\n", 6), 6);
  close(fd);
  EXPECT_EQ(ReadFile(path).value(), "after\n");
  EXPECT_EQ(ReadFile(dir / "a.1.log").value(), "before\n");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names,
                       ListDirectory(dir.path()));
  EXPECT_THAT(names, ElementsAre("a.1.log", "a.log"));
}

TEST(RotationTest, FilesThatCannotBeCopiedAreKept) {
  const TempDir dir;
  EXPECT_THAT(RotateOpenFile(dir / "none.log", 2),
              StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names,
                       ListDirectory(dir.path()));
  EXPECT_THAT(names, ElementsAre());
}

TEST(RotationTest, TheOldestFilesAreRemovedUntilTheRestFits) {
  const TempDir dir;
  for (const char* const name : {"events.1", "events.2", "events.3", "other"}) {
    ASSERT_OK(WriteFile(dir / name, std::string(100, 'x')));
  }
  ASSERT_OK(RemoveOldest(dir.path(), "events.", 200));
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> names,
                       ListDirectory(dir.path()));
  EXPECT_THAT(names, ElementsAre("events.2", "events.3", "other"));
  ASSERT_OK(RemoveOldest(dir.path(), "events.", 1));
  ASSERT_OK_AND_ASSIGN(names, ListDirectory(dir.path()));
  EXPECT_THAT(names, ElementsAre("events.3", "other"));
}

TEST(RotationTest, TheSizeOfAFileIsReturned) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a", "four"));
  EXPECT_EQ(FileSize(dir / "a"), 4);
  EXPECT_EQ(FileSize(dir / "none"), 0);
}

}  // namespace
}  // namespace gandem
