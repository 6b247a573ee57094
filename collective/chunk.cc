// SPDX-License-Identifier: Apache-2.0
#include "collective/chunk.h"

#include "absl/strings/str_cat.h"

namespace gandem {

PayloadRoom HeapRoom(size_t bytes) {
  const std::shared_ptr<std::byte[]> memory =
      std::make_shared_for_overwrite<std::byte[]>(bytes);
  return {.owner = memory, .bytes = {memory.get(), bytes}};
}

std::string ToString(const OperationTag& tag) {
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

}  // namespace gandem
