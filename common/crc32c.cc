// SPDX-License-Identifier: Apache-2.0
#include "common/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <bit>

namespace gandem {

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t so_far) {
  // ISA-L takes int sizes and leaves both inversions to the caller.
  constexpr size_t kChunk = size_t{1} << 30;
  uint32_t state = ~so_far;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kChunk);
    // The parameter is not const, but the function only reads.
    auto* data =
        reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(size), state);
    bytes = bytes.subspan(size);
  }
  return ~state;
}

uint32_t MaskedCrc32c(std::span<const std::byte> bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xa282ead8u;
}

}  // namespace gandem
