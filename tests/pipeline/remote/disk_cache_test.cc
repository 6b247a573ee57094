// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() : folder_(dir_ / "cache") {}

  std::string PathOf(const std::string& name) const {
    return absl::StrCat(folder_, "/", name.substr(0, 2), "/", name, ".block");
  }
  int CountFiles(absl::string_view ending) const {
    int count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_)) {
      count += absl::EndsWith(entry.path().string(), ending);
    }
    return count;
  }
  // Sets the time of the last use to `seconds` ago.
  void Age(const std::string& path, int64_t seconds) const {
    timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                         {.tv_sec = 0, .tv_nsec = 0}};
    times[1].tv_sec = std::time(nullptr) - seconds;
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  const gandem::testing::TempDir dir_;
  const std::string folder_;
};

TEST_F(DiskCacheTest, AnotherProcessFindsABlock) {
  DiskCache writer(folder_, 1 << 20);
  EXPECT_FALSE(writer.Read("abc-0", 5).has_value());
  writer.Write("abc-0", "hello");
  DiskCache reader(folder_, 1 << 20);
  EXPECT_EQ(reader.Read("abc-0", 5), "hello");
  EXPECT_FALSE(reader.Read("abc-1", 5).has_value());
  EXPECT_EQ(CountFiles(".tmp"), 0);
}

TEST_F(DiskCacheTest, EveryDamageIsDetectedAndRemoved) {
  DiskCache cache(folder_, 1 << 20);
  cache.Write("abc-0", "hello");
  const std::string good = *ReadFile(PathOf("abc-0"));
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    for (const std::string& bytes : {bad, good.substr(0, i), good + "x"}) {
      EXPECT_OK(WriteFile(PathOf("abc-0"), bytes));
      EXPECT_FALSE(cache.Read("abc-0", 5).has_value()) << i;
      EXPECT_FALSE(PathExists(PathOf("abc-0")));
    }
  }
  cache.Write("abc-0", "hello");
  EXPECT_EQ(cache.Read("abc-0", 5), "hello");
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedBlockIsRemovedFirst) {
  DiskCache cache(folder_, 1000);
  const std::string block(100, 'x');
  for (int i = 0; i < 8; ++i) {
    const std::string name = absl::StrCat("abc-", i);
    cache.Write(name, block);
    Age(PathOf(name), 1000 - i);
  }
  EXPECT_EQ(cache.Read("abc-0", 100), PagedString(block));  // used again
  cache.Write("abc-8", block);
  EXPECT_TRUE(cache.Read("abc-0", 100).has_value());
  EXPECT_FALSE(cache.Read("abc-1", 100).has_value());
  EXPECT_TRUE(cache.Read("abc-8", 100).has_value());
  EXPECT_LE(CountFiles(".block"), 8);
}

TEST_F(DiskCacheTest, PartiallyWrittenFilesAreRemoved) {
  DiskCache cache(folder_, 1 << 20);
  EXPECT_OK(CreateDirectories(folder_ + "/ab"));
  const std::string old = folder_ + "/ab/abc-0.block.1-1.tmp";
  const std::string now = folder_ + "/ab/abc-0.block.1-2.tmp";
  EXPECT_OK(WriteFile(old, "x"));
  EXPECT_OK(WriteFile(now, "x"));
  Age(old, 10000);
  cache.Write("abc-1", "hello");
  EXPECT_FALSE(PathExists(old));
  EXPECT_TRUE(PathExists(now));
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenDisablesTheCache) {
  EXPECT_OK(WriteFile(folder_, "a file"));
  DiskCache cache(folder_, 1 << 20);
  EXPECT_TRUE(cache.writable());
  cache.Write("abc-0", "hello");
  EXPECT_FALSE(cache.writable());
  cache.Write("abc-0", "hello");
  EXPECT_FALSE(cache.Read("abc-0", 5).has_value());
}

TEST_F(DiskCacheTest, OtherProcessesMayRemoveAnything) {
  DiskCache cache(folder_, 1 << 20);
  cache.Write("abc-0", "hello");
  EXPECT_OK(RemoveAll(folder_));
  EXPECT_FALSE(cache.Read("abc-0", 5).has_value());
  cache.Write("abc-0", "hello");
  EXPECT_EQ(cache.Read("abc-0", 5), "hello");
  EXPECT_TRUE(cache.writable());
}

}  // namespace
}  // namespace gandem
