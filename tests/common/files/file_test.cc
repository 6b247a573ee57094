// SPDX-License-Identifier: Apache-2.0
#include "common/files/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/process/thread.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FileTest, WritesAndReadsBack) {
  const TempDir dir;
  const std::string long_text(200'000, 'x');
  for (const std::string& text :
       {std::string("a\0b", 3), long_text, std::string()}) {
    ASSERT_OK(WriteFile(dir / "plain", text));
    EXPECT_EQ(*ReadFile(dir / "plain"), text);
    ASSERT_OK(WriteFileDurably(dir / "durable", text));
    EXPECT_EQ(*ReadFile(dir / "durable"), text);
  }
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre("durable", "plain"));
}

TEST(FileTest, RenameReplaces) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "new", "b"));
  ASSERT_OK(WriteFile(dir / "f", "a"));
  ASSERT_OK(RenameDurably(dir / "new", dir / "f"));
  EXPECT_EQ(*ReadFile(dir / "f"), "b");
  EXPECT_THAT(*ListDirectory(dir.path()), ElementsAre("f"));
  EXPECT_THAT(RenameDurably(dir / "new", dir / "f"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir / "f")));
}

TEST(FileTest, ReadPrefixReadsNoMore) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "f", "12345"));
  EXPECT_EQ(*ReadPrefix(dir / "f", 3), "123");
  EXPECT_EQ(*ReadPrefix(dir / "f", 9), "12345");
  EXPECT_THAT(ReadPrefix(dir / "none", 3),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(FileTest, ReadPiecesReadsTheWholeFileInPieces) {
  const TempDir dir;
  std::string text;
  while (text.size() < 200'000) absl::StrAppend(&text, text.size(), ",");
  ASSERT_OK(WriteFile(dir / "f", text));
  std::string read;
  ASSERT_OK(ReadPieces(dir / "f", [&](std::span<const std::byte> piece) {
    EXPECT_LE(piece.size(), 65536U);
    read.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }));
  EXPECT_EQ(read, text);
  EXPECT_THAT(ReadPieces(dir / "none", [](std::span<const std::byte>) {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(FileTest, ReadFileEnforcesItsLimit) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "f", "12345"));
  EXPECT_EQ(*ReadFile(dir / "f", 5), "12345");
  EXPECT_THAT(ReadFile(dir / "f", 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 4 bytes")));
}

TEST(FileTest, ErrorsCarryCodeAndPath) {
  const TempDir dir;
  const std::string missing = dir / "none/file";
  EXPECT_THAT(ReadFile(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(WriteFile(missing, ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(WriteFileDurably(missing, ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(ListDirectory(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
  EXPECT_THAT(FsyncDirectory(missing),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing)));
}

TEST(FileTest, OpeningANamedPipeDoesNotBlock) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr(pipe), HasSubstr("is a named pipe")));
  EXPECT_THAT(ReadFile(pipe), refused);
  EXPECT_THAT(ReadPrefix(pipe, 3), refused);
  EXPECT_THAT(ReadFileTail(pipe, 3), refused);
  EXPECT_THAT(ReadPieces(pipe, [](auto) {}), refused);
  EXPECT_THAT(WriteFile(pipe, "text"), refused);
}

// A shell's `<(command)` is such a pipe.
TEST(FileTest, AnUnnamedPipeIsRead) {
  std::array<int, 2> fds = {-1, -1};
  ASSERT_EQ(pipe(fds.data()), 0);
  const std::string path = absl::StrCat("/dev/fd/", fds[0]);
  Thread writer("writer", [&fds] {
    for (const char* const text : {"slow", "ly"}) {
      absl::SleepFor(absl::Milliseconds(20));
      EXPECT_GT(write(fds[1], text, strlen(text)), 0);
    }
    close(fds[1]);
  });
  EXPECT_EQ(*ReadFile(path), "slowly");
  writer.Join();
  close(fds[0]);
}

TEST(FileTest, ALoopOfLinksIsAnErrorOfTheUser) {
  const TempDir dir;
  std::filesystem::create_symlink("b", std::string(dir / "a"));
  std::filesystem::create_symlink("a", std::string(dir / "b"));
  EXPECT_THAT(ReadFile(dir / "a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(dir / "a"), HasSubstr("circle"))));
}

TEST(FileTest, AFullDiskErrorHasAnAdvice) {
  EXPECT_THAT(WriteFile("/dev/full", "text"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("/dev/full"), HasSubstr("free some"))));
  EXPECT_THAT(FileError(EDQUOT, "cannot write", "/q"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(
      FileError(EFBIG, "cannot write", "/q"),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("ulimit -f")));
}

TEST(FileTest, AMountThatDoesNotAnswerIsRetried) {
  for (const int error : {ENOTCONN, ETIMEDOUT, ESTALE}) {
    EXPECT_THAT(FileError(error, "cannot read", "/mnt/f"),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("'/mnt/f'"), HasSubstr("mounted"))));
  }
}

TEST(FileTest, AFailedDurableWriteKeepsTheOldContents) {
  const TempDir dir;
  ASSERT_OK(WriteFileDurably(dir / "f", "old"));
  // A folder has the temporary name, so the write fails at its start.
  ASSERT_OK(CreateDirectories(dir / "f.tmp"));
  EXPECT_FALSE(WriteFileDurably(dir / "f", "new").ok());
  EXPECT_EQ(*ReadFile(dir / "f"), "old");
}

TEST(FileTest, FoldersAreMadeListedAndRemoved) {
  const TempDir dir;
  ASSERT_OK(CreateDirectories(dir / "a/b"));
  ASSERT_OK(CreateDirectories(dir / "a/b"));
  ASSERT_OK(WriteFile(dir / "a/z", ""));
  ASSERT_OK(WriteFile(dir / "a/.hidden", ""));
  EXPECT_THAT(*ListDirectory(dir / "a"), ElementsAre(".hidden", "b", "z"));
  EXPECT_FALSE(CreateDirectories(dir / "a/z").ok());
  EXPECT_FALSE(CreateDirectories(dir / "a/z/deeper").ok());
  EXPECT_OK(FsyncDirectory(dir / "a"));
  EXPECT_TRUE(PathExists(dir / "a/z"));
  EXPECT_OK(RemoveAll(dir / "a"));
  EXPECT_FALSE(PathExists(dir / "a"));
  EXPECT_OK(RemoveAll(dir / "a"));
}

TEST(FileTest, RemoveAllRemovesFilesThatAreBeingWritten) {
  const TempDir dir;
  for (int turn = 0; turn < 50; ++turn) {
    ASSERT_OK(CreateDirectories(dir / "a"));
    std::atomic<bool> writes = false;
    const Thread writer("writer", [&] {
      while (WriteFileDurably(dir / "a/z", "1").ok()) writes = true;
      writes = true;
    });
    while (!writes) {
    }
    EXPECT_OK(RemoveAll(dir / "a"));
  }
}

}  // namespace
}  // namespace gandem
