// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/idx_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/idx_files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::IdxBytes;
using ::gandem::testing::StatusIs;
using ::gandem::testing::WriteGzip;
using ::gandem::testing::WritePlain;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxReaderTest : public ::testing::Test {
 protected:
  // Expects a refusal of `bytes` with `code` that names the file.
  void ExpectRefused(const std::string& bytes, absl::StatusCode code,
                     const std::string& text) {
    const std::string path = WritePlain(dir_ / "f.idx", bytes);
    EXPECT_THAT(ReadIdx(path, 3),
                StatusIs(code, AllOf(HasSubstr(path), HasSubstr(text))));
  }

  gandem::testing::TempDir dir_;
  const std::string good_ = IdxBytes({2, 1, 3}, {0, 1, 2, 3, 4, 255});
};

TEST_F(IdxReaderTest, PlainAndGzipFilesAreRead) {
  for (const std::string& path :
       {WritePlain(dir_ / "plain", good_), WriteGzip(dir_ / "gzip", good_)}) {
    ASSERT_OK_AND_ASSIGN(const IdxArray array, ReadIdx(path, 3));
    EXPECT_THAT(array.shape, ElementsAre(2, 1, 3));
    EXPECT_THAT(array.values, ElementsAre(0, 1, 2, 3, 4, 255));
  }
}

TEST_F(IdxReaderTest, ReadingTheShapeReadsNoValues) {
  const std::string header = good_.substr(0, 16);
  for (const std::string& path :
       {WriteGzip(dir_ / "gzip", good_), WritePlain(dir_ / "cut", header)}) {
    EXPECT_THAT(*ReadIdxShape(path, 3), ElementsAre(2, 1, 3));
  }
  EXPECT_THAT(ReadIdxShape(WritePlain(dir_ / "short", header.substr(0, 15)), 3),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
}

TEST_F(IdxReaderTest, MoreThanOneChunkIsRead) {
  std::vector<uint8_t> values((int64_t{65} << 20) + 7);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i * 2654435761u >> 13;
  const auto length = static_cast<uint32_t>(values.size());
  const std::string path = WritePlain(dir_ / "big", IdxBytes({length}, values));
  ASSERT_OK_AND_ASSIGN(const IdxArray array, ReadIdx(path, 1));
  EXPECT_TRUE(array.values == values);
}

TEST_F(IdxReaderTest, AMissingFileOrAFolderIsRefused) {
  EXPECT_THAT(ReadIdx(dir_ / "none", 3),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_FALSE(ReadIdx(dir_.path(), 3).ok());
}

TEST_F(IdxReaderTest, AWrongMagicNumberIsRefused) {
  ExpectRefused("\x89PNG\r\n\x1a\n and so on, longer than a header",
                absl::StatusCode::kInvalidArgument,
                "expected the magic number 0x00000803, found 0x89504e47");
}

TEST_F(IdxReaderTest, OnlyUnsignedBytesAreRead) {
  ExpectRefused(IdxBytes({2, 1, 3}, {}, 0x0D),
                absl::StatusCode::kInvalidArgument,
                "type float are not supported");
}

TEST_F(IdxReaderTest, AWrongNumberOfDimensionsIsRefused) {
  ExpectRefused(IdxBytes({6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
                absl::StatusCode::kInvalidArgument,
                "with 1 dimensions: expected the magic number 0x00000803");
}

TEST_F(IdxReaderTest, AnEmptyDimensionIsRefused) {
  ExpectRefused(IdxBytes({2, 0, 3}, {}), absl::StatusCode::kInvalidArgument,
                "IDX dimension 1 is 0");
}

TEST_F(IdxReaderTest, AFalseHeaderAllocatesNothing) {
  const uint32_t huge = 0xffffffff;
  ExpectRefused(IdxBytes({huge, huge, huge}, {}),
                absl::StatusCode::kInvalidArgument, "IDX dimension 1");
  ExpectRefused(IdxBytes({huge, 0x7fff, 0x7fff}, {1, 2}),
                absl::StatusCode::kDataLoss, "found 2");
}

TEST_F(IdxReaderTest, EveryTruncationIsDetected) {
  for (size_t size = 0; size < good_.size(); ++size) {
    SCOPED_TRACE(size);
    ExpectRefused(good_.substr(0, size), absl::StatusCode::kDataLoss,
                  "truncated");
  }
}

TEST_F(IdxReaderTest, ATruncationIsReportedWithTheExpectedSize) {
  ExpectRefused(good_.substr(0, good_.size() - 2), absl::StatusCode::kDataLoss,
                "expected 6 bytes of values (2 x 1 x 3), found 4");
}

TEST_F(IdxReaderTest, TrailingBytesAreDetected) {
  ExpectRefused(good_ + "x", absl::StatusCode::kInvalidArgument,
                "bytes follow the last value: expected exactly 6 values");
}

TEST_F(IdxReaderTest, EveryTruncationOfGzipIsDetected) {
  const std::string path = WriteGzip(dir_ / "gz", good_);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, ReadFile(path));
  for (size_t size = 0; size < bytes.size(); ++size) {
    SCOPED_TRACE(size);
    WritePlain(path, bytes.substr(0, size));
    EXPECT_THAT(ReadIdx(path, 3),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("truncated")));
  }
}

TEST_F(IdxReaderTest, DamagedGzipIsDetected) {
  const std::string path = WriteGzip(dir_ / "gz", good_);
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
  bytes[bytes.size() - 8] ^= 1;  // in the CRC at the end
  WritePlain(path, bytes);
  EXPECT_THAT(ReadIdx(path, 3),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(path), HasSubstr("damaged"))));
}

}  // namespace
}  // namespace gandem
