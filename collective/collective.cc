// SPDX-License-Identifier: Apache-2.0
#include "collective/collective.h"

#include "common/check.h"

namespace gandem {

const char* NameOf(OperationKind kind) {
  constexpr const char* kNames[] = {"all-reduce", "broadcast", "all-gather",
                                    "barrier"};
  return kNames[static_cast<size_t>(kind)];
}

Collective::Ticket Collective::AllReduce(std::span<std::byte> values,
                                         ElementType type) {
  GANDEM_CHECK(values.size() % BytesPerElement(type) == 0);
  return Submit(
      {.kind = OperationKind::kAllReduce, .type = type, .buffer = values});
}

Collective::Ticket Collective::Broadcast(std::span<std::byte> bytes, int root) {
  GANDEM_CHECK(root >= 0 && root < size());
  return Submit(
      {.kind = OperationKind::kBroadcast, .root = root, .buffer = bytes});
}

Collective::Ticket Collective::AllGather(std::span<std::byte> blocks) {
  GANDEM_CHECK(blocks.size() % size() == 0);
  return Submit({.kind = OperationKind::kAllGather, .buffer = blocks});
}

Collective::Ticket Collective::Barrier() {
  return Submit({.kind = OperationKind::kBarrier});
}

}  // namespace gandem
