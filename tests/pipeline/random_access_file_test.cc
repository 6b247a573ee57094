// SPDX-License-Identifier: Apache-2.0
#include "pipeline/random_access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RandomAccessFileTest : public ::testing::Test {
 protected:
  RandomAccessFileTest() { EXPECT_OK(WriteFile(path_, "0123456789")); }

  const gandem::testing::TempDir dir_;
  const std::string path_ = dir_ / "file";
};

TEST_F(RandomAccessFileTest, AllKindsOfFilesReadTheSameBytes) {
  const std::vector<std::shared_ptr<const RandomAccessFile>> files = {
      *OpenLocalFile(path_), *OpenLocalFileOnDemand(path_),
      FileInMemory(path_, std::string("0123456789"))};
  for (const auto& file : files) {
    EXPECT_EQ(file->name(), path_);
    EXPECT_EQ(file->size(), 10);
    EXPECT_EQ(*file->Read(2, 3), "234");
    EXPECT_EQ(*file->Read(0, 10), "0123456789");
    EXPECT_EQ(*file->Read(10, 0), "");
    // No memory is allocated for missing bytes.
    constexpr int64_t kFar = std::numeric_limits<int64_t>::max();
    for (const auto& [offset, size] : {std::pair<int64_t, int64_t>{9, 2},
                                       {11, 0},
                                       {0, kFar},
                                       {kFar, kFar}}) {
      EXPECT_THAT(file->Read(offset, size),
                  StatusIs(absl::StatusCode::kDataLoss,
                           AllOf(HasSubstr(path_), HasSubstr("cut off"))));
    }
  }
}

TEST_F(RandomAccessFileTest, ATruncatedFileIsReported) {
  const auto file = *OpenLocalFile(path_);
  const auto on_demand = *OpenLocalFileOnDemand(path_);
  ASSERT_OK(WriteFile(path_, "0123"));
  EXPECT_THAT(file->Read(2, 5), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(on_demand->Read(0, 1),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("had 10 bytes and has 4 now")));
}

TEST_F(RandomAccessFileTest, PathsThatAreNotFilesAreRejected) {
  EXPECT_THAT(OpenLocalFile(dir_ / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(
      OpenLocalFile(dir_.path()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a folder")));
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(OpenLocalFile(pipe),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(pipe), HasSubstr("a named pipe"))));
}

}  // namespace
}  // namespace gandem
