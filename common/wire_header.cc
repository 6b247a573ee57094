// SPDX-License-Identifier: Apache-2.0
#include "common/wire_header.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace gandem {
namespace {

constexpr size_t kSizeBytes = 4;

// Takes the first `size` bytes off `pieces`; empty: there are fewer.
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

std::string EncodeWireHeader(const google::protobuf::Message& header,
                             size_t max_bytes) {
  std::string head(kSizeBytes, '\0');
  GANDEM_CHECK(header.AppendToString(&head));
  const size_t size = head.size() - kSizeBytes;
  GANDEM_CHECK(size <= max_bytes);
  for (size_t i = 0; i < kSizeBytes; ++i) {
    head[i] = static_cast<char>(size >> (8 * i));
  }
  return head;
}

absl::Status TakeWireHeader(absl::string_view name, size_t max_bytes,
                            std::vector<SharedBytes>& pieces,
                            google::protobuf::Message& header) {
  const std::optional<std::string> prefix = TakeBytes(pieces, kSizeBytes);
  if (!prefix.has_value()) return MalformedMessage(name, "no header size");
  size_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) {
    size |= size_t{static_cast<unsigned char>((*prefix)[i])} << (8 * i);
  }
  if (size > max_bytes) {
    return MalformedMessage(name, absl::StrCat("header size ", size));
  }
  const std::optional<std::string> bytes = TakeBytes(pieces, size);
  if (!bytes.has_value() || !header.ParseFromString(*bytes)) {
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
