// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/files/file.h"
#include "common/process/thread.h"
#include "common/rpc/socket_folder.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Tests with $TMPDIR in the test's own folder.
class SocketFolderTest : public ::testing::Test {
 protected:
  SocketFolderTest() { SetTmpdir(dir_.path()); }
  ~SocketFolderTest() override {
    if (!saved_.has_value()) {
      unsetenv("TMPDIR");
    } else {
      SetTmpdir(*saved_);
    }
  }
  static void SetTmpdir(const std::string& path) {
    setenv("TMPDIR", path.c_str(), 1);
  }
  static std::optional<std::string> Tmpdir() {
    const char* const value = std::getenv("TMPDIR");
    if (value == nullptr) return std::nullopt;
    return value;
  }
  // Folder of a killed process: the kernel has released its lock.
  std::string AbandonedFolder(const std::string& name, mode_t mode = 0700) {
    std::string path = dir_ / name;
    EXPECT_OK(CreateDirectories(path));
    EXPECT_OK(WriteFile(path + "/exchange", ""));
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  const std::optional<std::string> saved_ = Tmpdir();
  const TempDir dir_;
};

TEST_F(SocketFolderTest, IsPrivateAndGoesWithTheObject) {
  std::string path;
  {
    ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
    path = folder->path();
    EXPECT_THAT(path, StartsWith(dir_ / "gandem-sockets-"));
    struct stat info = {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700);
    EXPECT_EQ(folder->AddressOf("x"), "unix:" + path + "/x");
    EXPECT_OK(WriteFile(path + "/left", ""));
  }
  EXPECT_FALSE(PathExists(path));
}

TEST_F(SocketFolderTest, AMissingTmpdirIsNamed) {
  SetTmpdir(dir_ / "none");
  EXPECT_THAT(SocketFolder::Create(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("TMPDIR names '" + dir_ / "none" +
                                 "': make that folder, or unset TMPDIR")));
}

TEST_F(SocketFolderTest, ALongTmpdirIsAvoided) {
  const std::string long_folder = dir_ / std::string(80, 'x');
  ASSERT_OK(CreateDirectories(long_folder));
  SetTmpdir(long_folder);
  EXPECT_THAT((*SocketFolder::Create())->path(),
              StartsWith("/tmp/gandem-sockets-"));
}

TEST_F(SocketFolderTest, TheNextOneRemovesWhatAKilledProcessLeft) {
  ASSERT_OK_AND_ASSIGN(const auto living, SocketFolder::Create());
  const std::string abandoned = AbandonedFolder("gandem-sockets-aaaaaa");
  ASSERT_OK_AND_ASSIGN(const auto next, SocketFolder::Create());
  EXPECT_FALSE(PathExists(abandoned));
  EXPECT_TRUE(PathExists(living->path()));
}

// Each removes what it takes for abandoned, and all get one that stays.
TEST_F(SocketFolderTest, ManyAreMadeAtOnce) {
  std::vector<std::unique_ptr<SocketFolder>> folders(64);
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < 8; ++i) {
      threads.emplace_back("make", [&folders, i] {
        for (size_t k = i; k < folders.size(); k += 8) {
          auto folder = SocketFolder::Create();
          ASSERT_OK(folder);
          folders[k] = *std::move(folder);
        }
      });
    }
  }
  for (const auto& folder : folders) {
    ASSERT_NE(folder, nullptr);
    EXPECT_TRUE(PathExists(folder->path())) << folder->path();
  }
}

TEST_F(SocketFolderTest, TheLastOneRemovesWhatWasKilledMeanwhile) {
  std::string abandoned;
  {
    ASSERT_OK_AND_ASSIGN(const auto folder, SocketFolder::Create());
    abandoned = AbandonedFolder("gandem-sockets-aaaaaa");
  }
  EXPECT_FALSE(PathExists(abandoned));
}

TEST_F(SocketFolderTest, FoldersOfOthersStay) {
  const std::string other_name = AbandonedFolder("gandem-sockets-recordings");
  const std::string shared = AbandonedFolder("gandem-sockets-shared", 0755);
  const std::string target = AbandonedFolder("target");
  const std::string link = dir_ / "gandem-sockets-llllll";
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_OK(SocketFolder::Create());
  for (const std::string& path : {other_name, shared, target, link}) {
    EXPECT_TRUE(PathExists(path + "/exchange")) << path;
  }
}

}  // namespace
}  // namespace gandem
