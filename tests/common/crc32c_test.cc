// SPDX-License-Identifier: Apache-2.0
#include "common/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "absl/strings/string_view.h"

namespace gandem {
namespace {

std::span<const std::byte> Bytes(absl::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// RFC 3720, appendix B.4.
TEST(Crc32cTest, KnownAnswersAreComputed) {
  std::vector<std::byte> data(32, std::byte{0});
  EXPECT_EQ(Crc32c(data), 0x8a9136aa);
  std::ranges::fill(data, std::byte{0xff});
  EXPECT_EQ(Crc32c(data), 0x62a8ab43);
  for (int i = 0; i < 32; ++i) data[i] = std::byte(i);
  EXPECT_EQ(Crc32c(data), 0x46dd794e);
  std::ranges::reverse(data);
  EXPECT_EQ(Crc32c(data), 0x113fdb5c);
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xe3069283);
  EXPECT_EQ(Crc32c({}), 0);
}

TEST(Crc32cTest, ContinuesFromAnEarlierChecksum) {
  const absl::string_view text = "123456789";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(
        Crc32c(Bytes(text.substr(cut)), Crc32c(Bytes(text.substr(0, cut)))),
        0xe3069283);
  }
}

TEST(Crc32cTest, MasksLikeRecordFiles) {
  EXPECT_EQ(MaskedCrc32c(Bytes("123456789")), 0xc78ab0e5);
}

}  // namespace
}  // namespace gandem
