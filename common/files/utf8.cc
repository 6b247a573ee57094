// SPDX-License-Identifier: Apache-2.0
#include "common/files/utf8.h"

#include <cstdint>

namespace gandem {
namespace {

// Bytes of the sequence that `rest` starts with; 0: not valid.
size_t SequenceLength(absl::string_view rest) {
  const auto byte = [rest](size_t i) { return static_cast<uint8_t>(rest[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint32_t code = 0;
  uint32_t smallest = 0;
  if (first >> 5 == 0b110) {
    length = 2;
    code = first & 0x1f;
    smallest = 0x80;
  } else if (first >> 4 == 0b1110) {
    length = 3;
    code = first & 0x0f;
    smallest = 0x800;
  } else if (first >> 3 == 0b11110) {
    length = 4;
    code = first & 0x07;
    smallest = 0x10000;
  } else {
    return 0;
  }
  if (rest.size() < length) return 0;
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
