// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/parquet_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/file.h"
#include "pipeline/sources/source_kind.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::gandem::testing::TempDir;

TEST(ParquetNamesTest, AFileIsRecognizedByItsNameOrItsFirstBytes) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "noname", "PAR1..."));
  ASSERT_OK(WriteFile(dir / "text", "PARIS"));
  EXPECT_TRUE(LooksLikeParquet(*Locate(dir / "noname")));
  EXPECT_FALSE(LooksLikeParquet(*Locate(dir / "text")));
  EXPECT_TRUE(LooksLikeParquet({.name = "x.parquet"}));
}

TEST(ParquetNamesTest, AFolderIsRecognizedByItsFilesOrThoseInData) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "metadata.parquet", "x"));
  ASSERT_OK(WriteFile(dir / "a.png", "x"));
  EXPECT_FALSE(LooksLikeParquet(*Locate(dir.path())));
  ASSERT_OK(CreateDirectories(dir / "data"));
  ASSERT_OK(WriteFile(dir / "data/train.parquet", "x"));
  EXPECT_TRUE(LooksLikeParquet(*Locate(dir.path())));
  EXPECT_EQ(ParquetFolder(*Locate(dir.path())), dir / "data");
  ASSERT_OK(WriteFile(dir / "0.parquet", "x"));
  EXPECT_EQ(ParquetFolder(*Locate(dir.path())), dir.path());
}

TEST(ParquetNamesTest, ABuildWithoutTheExtraNamesTheExtra) {
  const SourceKind missing = MissingParquetKind();
  const Location at = {.path = "a.parquet", .name = "a.parquet"};
  EXPECT_TRUE(missing.recognizes(at));
  EXPECT_THAT(missing.open(at, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "'a.parquet' is Parquet: this gandem was built without "
                       "the extra `parquet`; run scripts/build.sh"));
}

}  // namespace
}  // namespace gandem
