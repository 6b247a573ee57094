// SPDX-License-Identifier: Apache-2.0
//
// CRC32C (Castagnoli; RFC 3720 appendix B.4), in hardware if available.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace gandem {

// Continues from `so_far`, the CRC of all preceding bytes:
// Crc32c(b, Crc32c(a)) == Crc32c(a followed by b).
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t so_far = 0);
inline uint32_t TextCrc32c(absl::string_view text) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

// Returns the form used in TensorFlow's record files: rotated and shifted by a
// constant, because a CRC over data that contains a CRC is weak.
uint32_t MaskedCrc32c(std::span<const std::byte> bytes);

}  // namespace gandem
