// SPDX-License-Identifier: Apache-2.0
//
// CRC32C (Castagnoli; RFC 3720 appendix B.4), in hardware where there is one.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/strings/string_view.h"

namespace gandem {

// `so_far` is the CRC of all bytes before these:
// Crc32c(b, Crc32c(a)) == Crc32c(a followed by b).
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t so_far = 0);
inline uint32_t TextCrc32c(absl::string_view text) {
  return Crc32c(std::as_bytes(std::span(text.data(), text.size())));
}

// The form in TensorFlow's record files: a CRC over data that holds a CRC is
// weak, so the stored one is rotated and shifted by a constant.
uint32_t MaskedCrc32c(std::span<const std::byte> bytes);

}  // namespace gandem
