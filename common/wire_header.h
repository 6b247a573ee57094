// SPDX-License-Identifier: Apache-2.0
//
// Parts shared by the codecs of framed streams. A message is
//   u32 size of the header | u32 its CRC32C | header, a protobuf | payload
// with little-endian numbers. Readers trust no input. All errors start with
// `name`.
//
// Thread safety: pure functions.
// Errors:
//   DATA_LOSS         a checksum does not match; resending may help
//   INVALID_ARGUMENT  malformed by the sender; names the fault
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

// Returns whether a flipped bit may have caused the error of a call between
// processes of one run. Besides the message, gRPC's framing (a length, a method
// name, the token) may be damaged. HTTP/2 caches headers: a damaged one stays
// wrong until the connection ends.
bool MayBeDamage(const absl::Status& status);

// Size and checksum in front of a header.
inline constexpr size_t kWirePrefixBytes = 8;
std::string WirePrefix(absl::string_view header);

// Returns prefix and bytes of `header`, which must have at most `max_bytes`.
std::string EncodeWireHeader(const google::protobuf::Message& header,
                             size_t max_bytes);

// Removes prefix and bytes of a header from the pieces of a message and parses
// the header. The pieces keep the payload.
absl::Status TakeWireHeader(absl::string_view name, size_t max_bytes,
                            std::vector<SharedBytes>& pieces,
                            google::protobuf::Message& header);

absl::Status CheckNotNegative(
    absl::string_view name,
    std::span<const std::pair<absl::string_view, int64_t>> numbers);

// Tables map our enum values to wire values, and contain all of ours.
template <typename Ours, typename Wire, size_t n>
Wire ToWire(const std::pair<Ours, Wire> (&table)[n], Ours ours) {
  for (const auto& [mine, wire] : table) {
    if (mine == ours) return wire;
  }
  return table[0].second;
}

// Returns nothing for a value outside the table.
template <typename Ours, typename Wire, size_t n>
std::optional<Ours> FromWire(const std::pair<Ours, Wire> (&table)[n],
                             Wire wire) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == wire) return ours;
  }
  return std::nullopt;
}

}  // namespace gandem
