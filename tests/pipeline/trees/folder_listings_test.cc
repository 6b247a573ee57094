// SPDX-License-Identifier: Apache-2.0
#include "pipeline/trees/folder_listings.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::testing::ElementsAre;

class FolderListingsTest : public ::testing::Test {
 protected:
  FolderListingsTest() {
    EXPECT_OK(CreateDirectories(run_dir_ + "/state"));
    Write("b/2.png", "two");
    Write("a.png", "one");
    Settle();
  }

  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_OK(CreateDirectories(ParentOf(folder_ + "/" + name)));
    ASSERT_OK(WriteFile(folder_ + "/" + name, bytes));
  }
  // As if nothing had changed for long.
  void Settle() {
    const timespec times[2] = {{.tv_sec = 1'000'000'000, .tv_nsec = 1},
                               {.tv_sec = 1'000'000'000, .tv_nsec = 1}};
    for (const std::string& folder : {folder_, folder_ + "/b"}) {
      ASSERT_EQ(utimensat(AT_FDCWD, folder.c_str(), times, 0), 0);
    }
  }
  // "NAME BYTES" of each file.
  std::vector<std::string> Files() const {
    const auto contents = FolderListings::Of(folder_);
    EXPECT_OK(contents);
    std::vector<std::string> files;
    for (const TreeFile& file : (*contents)->files) {
      files.push_back(file.name + " " + std::to_string(file.bytes));
    }
    return files;
  }
  void ListAndKeep() const {
    const FolderListings listings({});
    EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3"));
    EXPECT_OK(listings.Keep(run_dir_));
  }

  const gandem::testing::TempDir dir_;
  const std::string folder_ = dir_ / "photos";
  const std::string run_dir_ = dir_ / "run";
};

TEST_F(FolderListingsTest, ACommandListsAFolderOnce) {
  {
    const FolderListings listings({});
    EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3"));
    Write("c.png", "more");
    EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3"));
  }
  EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3", "c.png 4"));
}

// That it does not list again shows in a size that is not noticed.
TEST_F(FolderListingsTest, AWorkerTakesWhatWasKept) {
  ListAndKeep();
  Write("a.png", "overwritten");
  const FolderListings listings({.run_dir = run_dir_});
  EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3"));
}

TEST_F(FolderListingsTest, AFolderWithOtherNamesIsListedAgain) {
  ListAndKeep();
  Write("b/3.png", "x");
  const FolderListings listings({.run_dir = run_dir_});
  EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3", "b/3.png 1"));
}

// The same path of another host may be a copy, with equal times.
TEST_F(FolderListingsTest, ACopyIsListedAgain) {
  ListAndKeep();
  std::filesystem::rename(folder_, folder_ + ".old");
  std::filesystem::copy(folder_ + ".old", folder_,
                        std::filesystem::copy_options::recursive);
  Write("a.png", "overwritten");
  Settle();
  const FolderListings listings({.run_dir = run_dir_});
  EXPECT_THAT(Files(), ElementsAre("a.png 11", "b/2.png 3"));
}

TEST_F(FolderListingsTest, WhatHasJustChangedIsNotKept) {
  ListAndKeep();
  EXPECT_TRUE(PathExists(run_dir_ + "/state/listings"));
  Write("b/3.png", "x");
  {
    const FolderListings listings({});
    EXPECT_OK(FolderListings::Of(folder_));
    EXPECT_OK(listings.Keep(run_dir_));
  }
  EXPECT_FALSE(PathExists(run_dir_ + "/state/listings"));
}

TEST_F(FolderListingsTest, ADamagedListingIsNoObstacle) {
  ListAndKeep();
  const std::string file = run_dir_ + "/state/listings";
  const std::string bytes = *ReadFile(file);
  for (const std::string& damaged : {std::string(), bytes.substr(0, 40),
                                     bytes + "x", std::string("\xff\xff")}) {
    ASSERT_OK(WriteFile(file, damaged));
    const FolderListings listings({.run_dir = run_dir_});
    EXPECT_THAT(Files(), ElementsAre("a.png 3", "b/2.png 3"));
  }
}

TEST_F(FolderListingsTest, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(FolderListings::Of(folder_ + "/c").status(),
              testing::StatusIs(absl::StatusCode::kNotFound,
                                ::testing::HasSubstr(folder_ + "/c")));
}

}  // namespace
}  // namespace gandem
