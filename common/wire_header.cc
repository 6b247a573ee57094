// SPDX-License-Identifier: Apache-2.0
#include "common/wire_header.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/crc32c.h"

namespace gandem {
namespace {

void Write32(uint32_t number, char* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<char>(number >> (8 * i));
}

uint32_t Read32(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (int i = 0; i < 4; ++i) {
    number |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return number;
}

// Removes the first `size` bytes from `pieces`, or nothing if too few.
std::optional<std::string> TakeBytes(std::vector<SharedBytes>& pieces,
                                     size_t size) {
  std::string bytes;
  size_t index = 0;
  while (bytes.size() < size && index < pieces.size()) {
    SharedBytes& piece = pieces[index];
    const size_t some = std::min(size - bytes.size(), piece.size());
    bytes.append(reinterpret_cast<const char*>(piece.data()), some);
    piece = piece.Slice(some, piece.size() - some);
    if (piece.empty()) ++index;
  }
  pieces.erase(pieces.begin(), pieces.begin() + index);
  if (bytes.size() < size) return std::nullopt;
  return bytes;
}

}  // namespace

absl::Status MalformedMessage(absl::string_view name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
}

absl::Status DamagedMessage(absl::string_view name, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      name, ": ", what, ": the network or a memory has changed it"));
}

bool MayBeDamage(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
      return true;
    default:
      return false;
  }
}

std::string WirePrefix(absl::string_view header) {
  std::string prefix(kWirePrefixBytes, '\0');
  Write32(static_cast<uint32_t>(header.size()), prefix.data());
  Write32(TextCrc32c(header), prefix.data() + 4);
  return prefix;
}

std::string EncodeWireHeader(const google::protobuf::Message& header,
                             size_t max_bytes) {
  const std::string bytes = header.SerializeAsString();
  GANDEM_CHECK(header.IsInitialized() && bytes.size() <= max_bytes);
  return WirePrefix(bytes) + bytes;
}

absl::Status TakeWireHeader(absl::string_view name, size_t max_bytes,
                            std::vector<SharedBytes>& pieces,
                            google::protobuf::Message& header) {
  const std::optional<std::string> prefix = TakeBytes(pieces, kWirePrefixBytes);
  if (!prefix.has_value()) return MalformedMessage(name, "no header size");
  const size_t size = Read32(*prefix, 0);
  if (size > max_bytes) {
    return DamagedMessage(name, absl::StrCat("header size ", size));
  }
  const std::optional<std::string> bytes = TakeBytes(pieces, size);
  if (!bytes.has_value() || TextCrc32c(*bytes) != Read32(*prefix, 4)) {
    return DamagedMessage(name, "checksum of the header");
  }
  if (!header.ParseFromString(*bytes)) {
    return MalformedMessage(
        name, absl::StrCat("header is not a ", header.GetDescriptor()->name()));
  }
  return absl::OkStatus();
}

absl::Status CheckNotNegative(
    absl::string_view name,
    std::span<const std::pair<absl::string_view, int64_t>> numbers) {
  for (const auto& [field, value] : numbers) {
    if (value < 0) {
      return MalformedMessage(name, absl::StrCat(field, " ", value));
    }
  }
  return absl::OkStatus();
}

}  // namespace gandem
