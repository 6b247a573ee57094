// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the decoders of data_worker's answers: frames, indexes and images. A
// hostile file could take over data_worker.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "common/check.h"
#include "extras/parquet/data_frames.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

void CheckFrame(absl::string_view input) {
  const auto frame = DecodeDataFrame(input);
  if (!frame.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(frame.status()));
    return;
  }
  GANDEM_CHECK(frame->payload_bytes <= kMaxPayloadBytes);
  GANDEM_CHECK(EncodeDataFrame(*frame) == input);
}

void CheckShard(absl::string_view input) {
  const auto shard = DecodeOpenedShard(input);
  if (!shard.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(shard.status()));
    return;
  }
  const auto fits = [&](size_t count) {
    return count == 0 || static_cast<int64_t>(count) == shard->rows();
  };
  GANDEM_CHECK(fits(shard->labels.size()) && fits(shard->paths.size()));
  GANDEM_CHECK(EncodeOpenedShard(*shard) == input);
}

// Uses the count in the input as the expected number of rows.
void CheckImages(absl::string_view input) {
  int64_t rows = 0;
  if (input.size() >= 12) std::memcpy(&rows, input.data() + 4, sizeof(rows));
  const auto images = DecodeImages(input, rows);
  if (!images.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(images.status()));
    return;
  }
  std::vector<int64_t> sizes;
  std::string data;
  for (const absl::string_view image : *images) {
    sizes.push_back(static_cast<int64_t>(image.size()));
    data.append(image.data(), image.size());
  }
  GANDEM_CHECK(EncodeImageIndex(sizes) + data == input);
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view input = TextOf(data, size);
  CheckFrame(input);
  CheckShard(input);
  CheckImages(input);
  return 0;
}
