// SPDX-License-Identifier: Apache-2.0
//
// Shared by zip_reader.cc and npz_writer.cc (APPNOTE 6.3.10, section 4.3).
//
// Thread safety: pure functions.
#pragma once

#include <zlib.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace gandem::zip {

static_assert(std::endian::native == std::endian::little,
              "zip archives are little endian");

inline constexpr uint32_t kLocalSignature = 0x04034b50;
inline constexpr uint32_t kDescriptorSignature = 0x08074b50;
inline constexpr uint32_t kCentralSignature = 0x02014b50;
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr uint32_t kEnd64Signature = 0x06064b50;
inline constexpr uint32_t kLocator64Signature = 0x07064b50;
inline constexpr size_t kEnd64Bytes = 56;

inline constexpr uint16_t kVersion64 = 45;  // needed for 64-bit fields
// Bit 3: the CRC follows the data.
inline constexpr uint16_t kDescriptorFlag = 8;
inline constexpr uint16_t kExtra64 = 1;  // the extra field of 64-bit values
inline constexpr uint16_t kDate1980 = 1 << 5 | 1;  // the earliest date
inline constexpr uint16_t kStored = 0;
// Marks a value that is in the extra field.
inline constexpr uint32_t kIn64 = 0xffffffff;

// Concatenates the bytes of `values`.
template <typename... Values>
std::string Pack(Values... values) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&values), sizeof(values)), ...);
  return bytes;
}

inline uint32_t Crc32(uint32_t so_far, absl::string_view bytes) {
  if (bytes.empty()) return so_far;  // zlib resets the CRC for a null pointer
  return static_cast<uint32_t>(crc32_z(
      so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace gandem::zip
