// SPDX-License-Identifier: Apache-2.0
#include "evaluation/kept/held_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>
#include <string>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

class HeldFolderTest : public ::testing::Test {
 protected:
  std::string cache() const { return dir_.path(); }
  // Makes a folder with 1000 bytes, last used `used` seconds after 1970.
  void Fill(const std::string& key, time_t used) {
    {
      ASSERT_OK_AND_ASSIGN(const HeldFolder folder,
                           HeldFolder::Hold(cache(), key));
      ASSERT_OK(WriteFile(folder.path() + "/slice", std::string(1000, 'x')));
    }
    const timespec times[] = {{.tv_sec = used, .tv_nsec = 0},
                              {.tv_sec = used, .tv_nsec = 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (dir_ / key + "/used").c_str(), times, 0), 0);
  }
  bool Has(const std::string& key) const {
    return PathExists(dir_ / key + "/slice");
  }

  gandem::testing::TempDir dir_;
};

TEST_F(HeldFolderTest, TheLeastRecentlyUsedIsRemoved) {
  Fill("b", 100);
  Fill("a", 200);
  Fill("c", 300);
  ASSERT_OK(TrimFolders(cache(), 3000));
  EXPECT_TRUE(Has("a") && Has("b") && Has("c"));
  ASSERT_OK(TrimFolders(cache(), 2999));
  EXPECT_FALSE(PathExists(dir_ / "b"));
  EXPECT_TRUE(Has("a") && Has("c"));
  // Holding a folder counts as a use.
  {
    ASSERT_OK_AND_ASSIGN(const HeldFolder held, HeldFolder::Hold(cache(), "a"));
  }
  ASSERT_OK(TrimFolders(cache(), 1000));
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("c"));
}

TEST_F(HeldFolderTest, HeldFoldersStay) {
  Fill("a", 100);
  Fill("b", 200);
  {
    ASSERT_OK_AND_ASSIGN(const HeldFolder one, HeldFolder::Hold(cache(), "a"));
    ASSERT_OK_AND_ASSIGN(const HeldFolder two, HeldFolder::Hold(cache(), "a"));
    ASSERT_OK(TrimFolders(cache(), 0));
    EXPECT_TRUE(Has("a"));
    EXPECT_FALSE(Has("b"));
  }
  ASSERT_OK(TrimFolders(cache(), 0));
  EXPECT_FALSE(PathExists(dir_ / "a"));
}

TEST_F(HeldFolderTest, NoCacheIsNothingToTrim) {
  EXPECT_OK(TrimFolders(dir_ / "none", 0));
}

TEST_F(HeldFolderTest, TheLastJobRemovesIt) {
  ASSERT_OK_AND_ASSIGN(HeldFolder first, HeldFolder::Hold(cache(), "a"));
  ASSERT_OK_AND_ASSIGN(HeldFolder second, HeldFolder::Hold(cache(), "a"));
  ASSERT_OK(first.Remove());
  EXPECT_TRUE(PathExists(dir_ / "a"));
  ASSERT_OK(second.Remove());
  EXPECT_FALSE(PathExists(dir_ / "a"));
}

}  // namespace
}  // namespace gandem
