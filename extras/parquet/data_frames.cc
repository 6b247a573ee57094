// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/data_frames.h"

#include <cstring>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

constexpr uint32_t kFrameMagic = 0x31575747;  // "GWW1"
constexpr uint32_t kShardMagic = 0x3253574f;
constexpr uint32_t kImagesMagic = 0x3149574f;
// Chosen: more than any list of classes or row groups, and small in memory.
constexpr int64_t kMaxListed = int64_t{1} << 22;

absl::Status Nonsense(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("data_worker answered nonsense: ", what));
}

// Both ends are on one host, so numbers are in native byte order.
template <typename T>
void AppendNumber(T value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(absl::string_view text, std::string& bytes) {
  AppendNumber<int64_t>(std::ssize(text), bytes);
  bytes.append(text.data(), text.size());
}

// Reads values from the front of bytes that may be cut off anywhere. After the
// first error all values are empty, and ok() is false.
class ByteTaker {
 public:
  explicit ByteTaker(absl::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    T value = 0;
    if (Has(sizeof(value))) {
      std::memcpy(&value, bytes_.data(), sizeof(value));
      bytes_.remove_prefix(sizeof(value));
    }
    return value;
  }
  // Reads a number of elements that take at least `least_bytes` each.
  int64_t Count(int64_t most, int64_t least_bytes) {
    const auto count = Number<int64_t>();
    if (count < 0 || count > most || count > std::ssize(bytes_) / least_bytes) {
      return Fail();
    }
    return count;
  }
  std::string Text() {
    const int64_t size = Count(kMaxPayloadBytes, 1);
    std::string text(bytes_.substr(0, static_cast<size_t>(size)));
    bytes_.remove_prefix(static_cast<size_t>(size));
    return text;
  }
  absl::string_view rest() const { return bytes_; }
  bool ok() const { return ok_; }

 private:
  bool Has(size_t size) { return bytes_.size() >= size || Fail() != 0; }
  int64_t Fail() {
    ok_ = false;
    bytes_ = "";
    return 0;
  }

  absl::string_view bytes_;
  bool ok_ = true;
};

int64_t MostPayload(FrameKind kind) {
  switch (kind) {
    case FrameKind::kBytes:
    case FrameKind::kOpened:
    case FrameKind::kImages:
      return kMaxPayloadBytes;
    case FrameKind::kFailed:
      return kMaxFailureBytes;
    case FrameKind::kOpen:
    case FrameKind::kRead:
    case FrameKind::kNoBytes:
    case FrameKind::kReadAt:
      return 0;
  }
  return -1;  // unknown kind
}

// Empty row groups are allowed; the total number of rows is limited.
bool RowsAreSane(const OpenedShard& shard) {
  int64_t rows = 0;
  for (const RowGroupSize& group : shard.row_groups) {
    if (group.rows < 0 || group.bytes < 0 ||
        group.rows > kMaxRowsOfShard - rows) {
      return false;
    }
    rows += group.rows;
  }
  const auto fits = [rows](int64_t count) {
    return count == 0 || count == rows;
  };
  return fits(std::ssize(shard.labels)) && fits(std::ssize(shard.paths));
}

}  // namespace

std::string EncodeDataFrame(const DataFrame& frame) {
  std::string bytes;
  AppendNumber(kFrameMagic, bytes);
  AppendNumber(static_cast<uint32_t>(frame.kind), bytes);
  for (const int64_t number :
       {frame.shard, frame.first, frame.second, frame.payload_bytes}) {
    AppendNumber(number, bytes);
  }
  return bytes;
}

absl::StatusOr<DataFrame> DecodeDataFrame(absl::string_view bytes) {
  ByteTaker taker(bytes);
  if (bytes.size() != kDataFrameBytes ||
      taker.Number<uint32_t>() != kFrameMagic) {
    return Nonsense("not a frame");
  }
  DataFrame frame = {.kind = static_cast<FrameKind>(taker.Number<uint32_t>())};
  for (int64_t* const number :
       {&frame.shard, &frame.first, &frame.second, &frame.payload_bytes}) {
    *number = taker.Number<int64_t>();
    if (*number < 0) return Nonsense("a frame with a negative number");
  }
  const int64_t most = MostPayload(frame.kind);
  if (most < 0) {
    return Nonsense(
        absl::StrCat("a frame of kind ", static_cast<uint32_t>(frame.kind)));
  }
  if (frame.payload_bytes > most) {
    return Nonsense(absl::StrCat("a frame of ", frame.payload_bytes,
                                 " bytes, more than ", most));
  }
  return frame;
}

int64_t OpenedShard::rows() const {
  int64_t rows = 0;
  for (const RowGroupSize& group : row_groups) rows += group.rows;
  return rows;
}

std::string EncodeOpenedShard(const OpenedShard& shard) {
  std::string bytes;
  AppendNumber(kShardMagic, bytes);
  AppendText(shard.image_column, bytes);
  AppendText(shard.label_column, bytes);
  AppendText(shard.unused_labels, bytes);
  AppendNumber<uint8_t>(shard.labels_are_texts ? 1 : 0, bytes);
  AppendNumber<int64_t>(std::ssize(shard.class_names), bytes);
  for (const std::string& name : shard.class_names) AppendText(name, bytes);
  AppendNumber<int64_t>(std::ssize(shard.row_groups), bytes);
  for (const RowGroupSize& group : shard.row_groups) {
    AppendNumber(group.rows, bytes);
    AppendNumber(group.bytes, bytes);
  }
  AppendNumber<int64_t>(std::ssize(shard.labels), bytes);
  for (const int64_t label : shard.labels) AppendNumber(label, bytes);
  AppendNumber<int64_t>(std::ssize(shard.paths), bytes);
  for (const std::string& path : shard.paths) AppendText(path, bytes);
  return bytes;
}

absl::StatusOr<OpenedShard> DecodeOpenedShard(absl::string_view bytes) {
  ByteTaker taker(bytes);
  if (taker.Number<uint32_t>() != kShardMagic) {
    return Nonsense("a malformed index");
  }
  OpenedShard shard = {.image_column = taker.Text(),
                       .label_column = taker.Text(),
                       .unused_labels = taker.Text()};
  const auto are_texts = taker.Number<uint8_t>();
  if (are_texts > 1) return Nonsense("a flag that is neither 0 nor 1");
  shard.labels_are_texts = are_texts == 1;
  for (int64_t left = taker.Count(kMaxListed, 8); left > 0; --left) {
    shard.class_names.push_back(taker.Text());
  }
  for (int64_t left = taker.Count(kMaxListed, 16); left > 0; --left) {
    RowGroupSize group = {.rows = taker.Number<int64_t>()};
    group.bytes = taker.Number<int64_t>();
    shard.row_groups.push_back(group);
  }
  for (int64_t left = taker.Count(kMaxRowsOfShard, 8); left > 0; --left) {
    shard.labels.push_back(taker.Number<int64_t>());
  }
  for (int64_t left = taker.Count(kMaxRowsOfShard, 8); left > 0; --left) {
    shard.paths.push_back(taker.Text());
  }
  if (!taker.ok()) return Nonsense("an index that is cut off");
  if (!taker.rest().empty()) return Nonsense("an index with trailing bytes");
  if (!shard.unused_labels.empty() && !shard.labels.empty()) {
    return Nonsense("labels that are not used");
  }
  if (!RowsAreSane(shard)) {
    return Nonsense("an index whose numbers of rows do not fit together");
  }
  for (const int64_t label : shard.labels) {
    if (label < 0 || (!shard.class_names.empty() &&
                      label >= std::ssize(shard.class_names))) {
      return Nonsense(absl::StrCat("label ", label, " of ",
                                   shard.class_names.size(), " classes"));
    }
  }
  return shard;
}

std::string EncodeImageIndex(const std::vector<int64_t>& sizes) {
  std::string bytes;
  AppendNumber(kImagesMagic, bytes);
  AppendNumber<int64_t>(std::ssize(sizes), bytes);
  for (const int64_t size : sizes) AppendNumber(size, bytes);
  return bytes;
}

absl::StatusOr<std::vector<absl::string_view>> DecodeImages(
    absl::string_view bytes, int64_t rows) {
  ByteTaker taker(bytes);
  if (taker.Number<uint32_t>() != kImagesMagic) {
    return Nonsense("a malformed image index");
  }
  const int64_t count = taker.Count(kMaxRowsOfShard, 8);
  if (!taker.ok() || count != rows) {
    return Nonsense(absl::StrCat(count, " images of ", rows, " rows"));
  }
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < count; ++i) sizes.push_back(taker.Number<int64_t>());
  absl::string_view data = taker.rest();
  std::vector<absl::string_view> images;
  for (const int64_t size : sizes) {
    if (size < 0 || size > std::ssize(data)) {
      return Nonsense(absl::StrCat("an image of ", size, " bytes where ",
                                   data.size(), " are left"));
    }
    images.push_back(data.substr(0, static_cast<size_t>(size)));
    data.remove_prefix(static_cast<size_t>(size));
  }
  if (!data.empty()) return Nonsense("images with trailing bytes");
  return images;
}

}  // namespace gandem
