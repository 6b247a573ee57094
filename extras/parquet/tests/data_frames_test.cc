// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/testing/status_matchers.h"

namespace gandem {
namespace {

using ::gandem::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OpenedShard SmallShard() {
  return {.image_column = "image",
          .label_column = "label",
          .labels_are_texts = true,
          .class_names = {"cat", "dog"},
          .row_groups = {{.rows = 2, .bytes = 100}, {.rows = 1, .bytes = 50}},
          .labels = {0, 1, 1},
          .paths = {"a.png", "", "c.png"}};
}

void ExpectNonsense(const OpenedShard& shard, absl::string_view what) {
  EXPECT_THAT(
      DecodeOpenedShard(EncodeOpenedShard(shard)),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(what))));
}

TEST(DataFramesTest, FramesRoundTrip) {
  const DataFrame frame = {.kind = FrameKind::kReadAt,
                           .shard = 3,
                           .first = int64_t{1} << 40,
                           .second = 7};
  const std::string bytes = EncodeDataFrame(frame);
  ASSERT_EQ(bytes.size(), kDataFrameBytes);
  ASSERT_OK_AND_ASSIGN(const DataFrame again, DecodeDataFrame(bytes));
  EXPECT_EQ(again.kind, frame.kind);
  EXPECT_EQ(again.shard, frame.shard);
  EXPECT_EQ(again.first, frame.first);
  EXPECT_EQ(again.second, frame.second);
  EXPECT_EQ(again.payload_bytes, 0);
}

TEST(DataFramesTest, InvalidFrames) {
  const auto decode = [](DataFrame frame) {
    return DecodeDataFrame(EncodeDataFrame(frame));
  };
  EXPECT_THAT(decode({.kind = static_cast<FrameKind>(9)}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("kind 9")));
  EXPECT_THAT(decode({.first = -1}), StatusIs(absl::StatusCode::kDataLoss,
                                              HasSubstr("negative number")));
  EXPECT_THAT(decode({.kind = FrameKind::kImages,
                      .payload_bytes = kMaxPayloadBytes + 1}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than")));
  EXPECT_THAT(decode({.kind = FrameKind::kFailed,
                      .payload_bytes = kMaxFailureBytes + 1}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("4096")));
  EXPECT_THAT(decode({.kind = FrameKind::kReadAt, .payload_bytes = 1}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than 0")));
  std::string bytes = EncodeDataFrame({});
  EXPECT_THAT(DecodeDataFrame(bytes.substr(1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a frame")));
  bytes[0] ^= 1;
  EXPECT_THAT(DecodeDataFrame(bytes),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a frame")));
}

TEST(DataFramesTest, IndexesRoundTrip) {
  const OpenedShard shard = SmallShard();
  ASSERT_OK_AND_ASSIGN(const OpenedShard again,
                       DecodeOpenedShard(EncodeOpenedShard(shard)));
  EXPECT_EQ(again.image_column, "image");
  EXPECT_EQ(again.label_column, "label");
  EXPECT_EQ(again.unused_labels, "");
  EXPECT_TRUE(again.labels_are_texts);
  EXPECT_EQ(again.class_names, shard.class_names);
  ASSERT_EQ(again.row_groups.size(), 2u);
  EXPECT_EQ(again.row_groups[1].rows, 1);
  EXPECT_EQ(again.row_groups[1].bytes, 50);
  EXPECT_EQ(again.rows(), 3);
  EXPECT_EQ(again.labels, shard.labels);
  EXPECT_EQ(again.paths, shard.paths);
}

TEST(DataFramesTest, UnusedLabelsRoundTrip) {
  OpenedShard shard = SmallShard();
  shard.unused_labels = "why";
  ExpectNonsense(shard, "labels that are not used");
  shard.labels.clear();
  EXPECT_EQ(DecodeOpenedShard(EncodeOpenedShard(shard))->unused_labels, "why");
}

TEST(DataFramesTest, TruncatedIndex) {
  const std::string bytes = EncodeOpenedShard(SmallShard());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(DecodeOpenedShard(bytes.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("nonsense")))
        << size;
  }
  EXPECT_THAT(
      DecodeOpenedShard(bytes + "x"),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("trailing bytes")));
}

TEST(DataFramesTest, InconsistentIndexes) {
  OpenedShard shard = SmallShard();
  shard.labels.pop_back();
  ExpectNonsense(shard, "numbers of rows");
  shard = SmallShard();
  shard.paths.push_back("d.png");
  ExpectNonsense(shard, "numbers of rows");
  shard = SmallShard();
  shard.labels[1] = 2;
  ExpectNonsense(shard, "label 2 of 2 classes");
  shard.labels[1] = -1;
  ExpectNonsense(shard, "label -1");
  shard = SmallShard();
  shard.row_groups[0].rows = -1;
  ExpectNonsense(shard, "numbers of rows");
  // The sum of the rows would not fit into 64 bits.
  shard = {.image_column = "image"};
  shard.row_groups.assign(2, {.rows = INT64_MAX, .bytes = 0});
  ExpectNonsense(shard, "numbers of rows");
  shard.row_groups.assign(1, {.rows = kMaxRowsOfShard + 1, .bytes = 0});
  ExpectNonsense(shard, "numbers of rows");
}

// A count alone must not cause an allocation.
TEST(DataFramesTest, CountsLargerThanTheIndex) {
  std::string bytes = EncodeOpenedShard({});
  const int64_t promised = int64_t{1} << 25;
  for (size_t at = 4; at + 8 <= bytes.size(); at += 8) {
    std::string more = bytes;
    std::memcpy(more.data() + at, &promised, sizeof(promised));
    EXPECT_THAT(DecodeOpenedShard(more),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("cut off")));
  }
}

TEST(DataFramesTest, ImagesLieOneAfterTheOther) {
  const std::string bytes = EncodeImageIndex({1, 0, 3}) + "abcd";
  ASSERT_OK_AND_ASSIGN(const auto images, DecodeImages(bytes, 3));
  EXPECT_THAT(images, ElementsAre("a", "", "bcd"));
}

TEST(DataFramesTest, InconsistentImages) {
  const auto expect = [](const std::string& bytes, int64_t rows,
                         const char* what) {
    EXPECT_THAT(DecodeImages(bytes, rows),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(what)));
  };
  expect(EncodeImageIndex({1, 3}) + "abcd", 3, "2 images of 3 rows");
  expect(EncodeImageIndex({1, 3}) + "abc", 2, "3 bytes where 2 are left");
  expect(EncodeImageIndex({1, 3}) + "abcde", 2, "trailing bytes");
  expect(EncodeImageIndex({-1, 5}) + "abcd", 2, "an image of -1 bytes");
  expect(EncodeImageIndex({INT64_MAX, 1}) + "abcd", 2, "are left");
  expect(EncodeImageIndex({1, 3}).substr(0, 20), 2, "images of 2 rows");
  expect("", 0, "malformed");
  expect(EncodeOpenedShard({}), 0, "malformed");
}

}  // namespace
}  // namespace gandem
