// SPDX-License-Identifier: Apache-2.0
//
// A part of an operation's bytes on its way from one rank to another, and what
// says to which operation it belongs.
//
// Owner: values; they share the payload.
// Thread safety: values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/collective.h"
#include "common/shared_bytes.h"

namespace gandem {

// Which operation; all ranks must agree on all of it.
struct OperationTag {
  int64_t number = 0;  // the Ticket
  OperationKind kind = OperationKind::kBarrier;
  ElementType type = ElementType::kFloat32;
  int root = 0;
  int64_t bytes = 0;  // of the whole buffer

  bool operator==(const OperationTag&) const = default;
};

// "all-reduce 17 (4096 bytes of FLOAT32)"
std::string ToString(const OperationTag& tag);

// Memory for a payload that is still to be written.
struct PayloadRoom {
  std::shared_ptr<const void> owner = {};
  std::span<std::byte> bytes = {};

  SharedBytes Written() const { return SharedBytes(owner, bytes); }
};
PayloadRoom HeapRoom(size_t bytes);

struct Chunk {
  OperationTag tag = {};
  int64_t offset = 0;  // of the payload in the operation's buffer
  uint32_t crc32c = 0;
  std::vector<SharedBytes> payload = {};  // pieces, in order

  int64_t size() const { return TotalBytes(payload); }
};

}  // namespace gandem
