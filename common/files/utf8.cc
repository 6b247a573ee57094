// SPDX-License-Identifier: Apache-2.0
#include "common/files/utf8.h"

#include <bit>
#include <cstdint>

namespace gandem {
namespace {

// Returns the length of the first UTF-8 sequence in `rest`, or 0 if it is
// invalid.
size_t SequenceLength(absl::string_view rest) {
  const auto byte = [rest](size_t i) { return static_cast<uint8_t>(rest[i]); };
  const auto length = static_cast<size_t>(std::countl_one(byte(0)));
  if (length == 0) return 1;  // ASCII
  if (length == 1 || length > 4 || length > rest.size()) return 0;
  constexpr uint32_t kSmallest[] = {0x80, 0x800, 0x10000};
  const uint32_t smallest = kSmallest[length - 2];
  uint32_t code = byte(0) & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0b10) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < smallest || code > 0x10ffff || surrogate ? 0 : length;
}

}  // namespace

size_t ValidUtf8Prefix(absl::string_view bytes) {
  size_t position = 0;
  while (position < bytes.size()) {
    const size_t length = SequenceLength(bytes.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

}  // namespace gandem
