// SPDX-License-Identifier: Apache-2.0
//
// Messages between gandem and data_worker over a socketpair, as bytes:
//
//   gandem        kOpen     shard, first = its size
//                 kRead     shard, first = its size, second = row group
//                 kBytes    the answer to kReadAt; the bytes follow
//                 kNoBytes  they could not be read
//   data_worker   kReadAt   shard, first = offset, second = size
//                 kOpened   an OpenedShard follows
//                 kImages   the images of a row group follow
//                 kFailed   first = code of a Status; its text follows
//
// data_worker reads untrusted files, so its answers are not trusted either. The
// decoders validate every value.
//
// Owner: values. Thread safety: pure functions.
// Errors: DATA_LOSS for bytes that data_worker never writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

enum class FrameKind : uint32_t {
  kOpen = 1,
  kRead = 2,
  kBytes = 3,
  kNoBytes = 4,
  kReadAt = 5,
  kOpened = 6,
  kImages = 7,
  kFailed = 8,
};

struct DataFrame {
  FrameKind kind = FrameKind::kOpen;
  int64_t shard = 0;
  int64_t first = 0;
  int64_t second = 0;
  int64_t payload_bytes = 0;  // bytes that follow
};

inline constexpr size_t kDataFrameBytes = 40;
// Limit of the payload of kOpened and kImages, and of the size in a kReadAt.
inline constexpr int64_t kMaxPayloadBytes = int64_t{1} << 30;
inline constexpr int64_t kMaxFailureBytes = 4096;
inline constexpr int64_t kMaxRowsOfShard = int64_t{1} << 26;

std::string EncodeDataFrame(const DataFrame& frame);
// `bytes` has kDataFrameBytes. In the result no number is negative, and the
// payload size is within the limit of its kind.
absl::StatusOr<DataFrame> DecodeDataFrame(absl::string_view bytes);

struct RowGroupSize {
  int64_t rows = 0;
  int64_t bytes = 0;  // size of the images according to the file
};

// Properties of a shard that are known before any of its images is read.
struct OpenedShard {
  std::string image_column = {};
  std::string label_column = {};  // "" if there is none
  // Why `labels` is empty although there is a column of labels; otherwise "".
  std::string unused_labels = {};
  // If the column of labels holds texts, class_names are the distinct texts of
  // this shard; other shards may have different ones.
  bool labels_are_texts = false;
  std::vector<std::string> class_names = {};
  std::vector<RowGroupSize> row_groups = {};
  std::vector<int64_t> labels = {};     // one per row, or none
  std::vector<std::string> paths = {};  // one per row, or none

  int64_t rows() const;
};

std::string EncodeOpenedShard(const OpenedShard& shard);
absl::StatusOr<OpenedShard> DecodeOpenedShard(absl::string_view bytes);

// Encodes the index that precedes the images of a row group. The images follow
// one after the other.
std::string EncodeImageIndex(const std::vector<int64_t>& sizes);
// Returns the images of a row group that should have `rows`; they lie in
// `bytes`.
absl::StatusOr<std::vector<absl::string_view>> DecodeImages(
    absl::string_view bytes, int64_t rows);

}  // namespace gandem
