// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the codecs of our framed streams. A message is
//   u32 size of the header | u32 its CRC32C | header, a protobuf | payload
// Both numbers are little-endian. Readers trust no input. All errors start with
// `name`.
//
// Thread safety: pure functions.
// Errors:
//   DATA_LOSS         a checksum does not match; sending again may help.
//   INVALID_ARGUMENT  the sender made a malformed message; the error names the
//                     fault.
#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/shared_bytes.h"

namespace gandem {

absl::Status MalformedMessage(absl::string_view name, absl::string_view what);
absl::Status DamagedMessage(absl::string_view name, absl::string_view what);

// Whether a flipped bit may have caused the error of a call between processes
// of one run. The bit may have been in the message or in gRPC's surroundings of
// it (a length, a method name, the token). HTTP/2 caches headers: a damaged one
// stays wrong until the connection ends.
bool MayBeDamage(const absl::Status& status);

// Bytes before a header: its size and its checksum.
inline constexpr size_t kWirePrefixBytes = 8;
std::string WirePrefix(absl::string_view header);

// Prefix and bytes of `header`, which must have at most `max_bytes`.
std::string EncodeWireHeader(const google::protobuf::Message& header,
                             size_t max_bytes);

// Takes prefix and bytes of a header off the pieces of a message, which then
// are its payload.
absl::Status TakeWireHeader(absl::string_view name, size_t max_bytes,
                            std::vector<SharedBytes>& pieces,
                            google::protobuf::Message& header);

// None of these fields may be negative.
absl::Status CheckNotNegative(
    absl::string_view name,
    std::span<const std::pair<absl::string_view, int64_t>> numbers);

// Enums on the wire: tables of our value and its number there, complete for
// ours.
template <typename Ours, typename Wire, size_t n>
Wire ToWire(const std::pair<Ours, Wire> (&table)[n], Ours ours) {
  for (const auto& [mine, wire] : table) {
    if (mine == ours) return wire;
  }
  return table[0].second;
}

// Empty: not a number of the table.
template <typename Ours, typename Wire, size_t n>
std::optional<Ours> FromWire(const std::pair<Ours, Wire> (&table)[n],
                             Wire wire) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == wire) return ours;
  }
  return std::nullopt;
}

}  // namespace gandem
