// SPDX-License-Identifier: Apache-2.0
//
// A part of an operation's buffer in transit, with the operation's identity.
//
// Owner: values; copies share the payload. Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "collective/collective.h"
#include "common/shared_bytes.h"

namespace gandem {

// Identity of an operation; all ranks must agree on all fields.
struct OperationTag {
  int64_t number = 0;  // the Ticket
  OperationKind kind = OperationKind::kBarrier;
  ElementType type = ElementType::kFloat32;
  int root = 0;
  int64_t bytes = 0;  // of the whole buffer

  bool operator==(const OperationTag&) const = default;
};

// Returns for example "all-reduce 17 (4096 bytes of FLOAT32)".
inline std::string ToString(const OperationTag& tag) {
  constexpr const char* kTypes[] = {"FLOAT32", "FLOAT64", "BFLOAT16",
                                    "FLOAT16"};
  std::string text = absl::StrCat(NameOf(tag.kind), " ", tag.number);
  if (tag.kind == OperationKind::kBarrier) return text;
  absl::StrAppend(&text, " (", tag.bytes, " bytes");
  if (tag.kind == OperationKind::kAllReduce) {
    absl::StrAppend(&text, " of ", kTypes[static_cast<size_t>(tag.type)]);
  } else if (tag.kind == OperationKind::kBroadcast) {
    absl::StrAppend(&text, " of rank ", tag.root);
  }
  return text + ")";
}

// Memory for a payload that will be written.
struct PayloadRoom {
  std::shared_ptr<const void> owner = {};
  std::span<std::byte> bytes = {};

  SharedBytes Written() const { return SharedBytes(owner, bytes); }
};
inline PayloadRoom HeapRoom(size_t bytes) {
  const std::shared_ptr<std::byte[]> memory =
      std::make_shared_for_overwrite<std::byte[]>(bytes);
  return {.owner = memory, .bytes = {memory.get(), bytes}};
}

struct Chunk {
  OperationTag tag = {};
  int64_t offset = 0;  // of the payload in the operation's buffer
  uint32_t crc32c = 0;
  std::vector<SharedBytes> payload = {};  // pieces, in order

  int64_t size() const { return TotalBytes(payload); }
};

}  // namespace gandem
