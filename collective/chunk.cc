// SPDX-License-Identifier: Apache-2.0
#include "collective/chunk.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gandem {
namespace {

absl::string_view NameOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "FLOAT32";
    case ElementType::kFloat64:
      return "FLOAT64";
    case ElementType::kBfloat16:
      return "BFLOAT16";
    case ElementType::kFloat16:
      return "FLOAT16";
  }
  return "";
}

}  // namespace

PayloadRoom HeapRoom(size_t bytes) {
  const std::shared_ptr<std::byte[]> memory =
      std::make_shared_for_overwrite<std::byte[]>(bytes);
  return {.owner = memory, .bytes = {memory.get(), bytes}};
}

std::string ToString(const OperationTag& tag) {
  const std::string text = absl::StrCat(NameOf(tag.kind), " ", tag.number);
  switch (tag.kind) {
    case OperationKind::kAllReduce:
      return absl::StrCat(text, " (", tag.bytes, " bytes of ", NameOf(tag.type),
                          ")");
    case OperationKind::kBroadcast:
      return absl::StrCat(text, " (", tag.bytes, " bytes of rank ", tag.root,
                          ")");
    case OperationKind::kAllGather:
      return absl::StrCat(text, " (", tag.bytes, " bytes)");
    case OperationKind::kBarrier:
      return text;
  }
  return "";
}

}  // namespace gandem
