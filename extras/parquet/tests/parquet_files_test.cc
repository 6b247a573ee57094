// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/parquet_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ParquetFilesTest : public ::testing::Test {
 protected:
  void Write(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      ASSERT_OK(WriteFile(dir_ / name, "x"));
    }
  }
  std::vector<std::string> Paths(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(dir_ / name);
    return paths;
  }

  gandem::testing::TempDir dir_;
};

TEST_F(ParquetFilesTest, FilesAndShards) {
  ASSERT_OK(WriteFile(dir_ / "noname", "PAR1..."));
  EXPECT_THAT(FindParquetFiles(*Locate(dir_ / "noname"))->paths,
              ElementsAre(dir_ / "noname"));
  Write({"a-00000-of-00005.parquet"});
  EXPECT_THAT(
      FindParquetFiles(*Locate(dir_ / "a-{00000..00001}-of-00005.parquet"))
          ->paths,
      ElementsAre(dir_ / "a-00000-of-00005.parquet",
                  dir_ / "a-00001-of-00005.parquet"));
  EXPECT_THAT(Locate(dir_ / "a-{1..0}.parquet"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(ParquetFilesTest, AFolderOfOneSet) {
  Write({"metadata.parquet", "0001.parquet", "0000.parquet", ".hidden.parquet",
         "README.md"});
  ASSERT_OK_AND_ASSIGN(const ParquetFiles files,
                       FindParquetFiles(*Locate(dir_.path())));
  EXPECT_THAT(files.paths,
              ElementsAre(dir_ / "0000.parquet", dir_ / "0001.parquet"));
  EXPECT_EQ(files.split, "");
}

TEST_F(ParquetFilesTest, PrefersTheSplitTrain) {
  ASSERT_OK(CreateDirectories(dir_ / "data"));
  Write({"data/train-00001-of-00002.parquet",
         "data/train-00000-of-00002.parquet",
         "data/test-00000-of-00001.parquet", "data/validation.parquet"});
  ASSERT_OK_AND_ASSIGN(const ParquetFiles files,
                       FindParquetFiles(*Locate(dir_.path())));
  EXPECT_THAT(files.paths,
              ElementsAre(dir_ / "data/train-00000-of-00002.parquet",
                          dir_ / "data/train-00001-of-00002.parquet"));
  EXPECT_EQ(files.split, "train");
  EXPECT_THAT(files.other_splits, ElementsAre("test", "validation"));
}

TEST_F(ParquetFilesTest, UsesTheOnlySplit) {
  Write({"test-00000-of-00001.parquet"});
  ASSERT_OK_AND_ASSIGN(const ParquetFiles files,
                       FindParquetFiles(*Locate(dir_.path())));
  EXPECT_EQ(files.paths, Paths({"test-00000-of-00001.parquet"}));
  EXPECT_EQ(files.split, "");
  EXPECT_THAT(files.other_splits, IsEmpty());
}

TEST_F(ParquetFilesTest, SplitsWithoutTrain) {
  Write({"test.parquet", "validation.parquet"});
  EXPECT_THAT(FindParquetFiles(*Locate(dir_.path())),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("test.parquet, validation.parquet"),
                             HasSubstr("name the files of one"))));
}

TEST_F(ParquetFilesTest, AShardIsMissing) {
  Write({"train-00000-of-00003.parquet", "train-00002-of-00003.parquet"});
  EXPECT_THAT(FindParquetFiles(*Locate(dir_.path())),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("has 2 of the 3 shards"),
                             HasSubstr("get the others"))));
  ASSERT_OK(RemoveAll(dir_ / "train-00002-of-00003.parquet"));
  Write({"train-00001-of-00003.parquet"});
  EXPECT_THAT(FindParquetFiles(*Locate(dir_.path())),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 2 of the 3 shards")));
  Write({"train-00002-of-00003.parquet"});
  EXPECT_OK(FindParquetFiles(*Locate(dir_.path())));
}

}  // namespace
}  // namespace gandem
