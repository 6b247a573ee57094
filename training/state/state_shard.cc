// SPDX-License-Identifier: Apache-2.0
#include "training/state/state_shard.h"

#include <utility>

#include "common/checkpoint/checkpoint_shards.h"
#include "training/state/module_state.h"

namespace gandem {

void StateShard::Add(const std::string& prefix, const TensorsByName& tensors) {
  for (const auto& [name, tensor] : tensors) {
    parts_.push_back({.name = prefix + name,
                      .bytes = static_cast<int64_t>(tensor.nbytes()),
                      .live = tensor});
  }
}

void StateShard::Add(NamedTensor tensor) {
  parts_.push_back({.name = tensor.name,
                    .bytes = static_cast<int64_t>(tensor.bytes.size())});
  parts_.back().held = std::move(tensor);
}

// All ranks split the same list in the same way, so nobody has to ask who
// writes what.
std::vector<NamedTensor> StateShard::Copy() const {
  std::vector<StatePart> parts;
  for (const Part& part : parts_) {
    parts.push_back({.name = part.name, .bytes = part.bytes});
  }
  const std::vector<int> rank_of = SplitState(parts, ranks_);
  std::vector<NamedTensor> share;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (rank_of[i] != rank_) continue;
    if (parts_[i].live.defined()) {
      AppendTensors("", {{parts_[i].name, parts_[i].live}}, share);
    } else {
      share.push_back(parts_[i].held);
    }
  }
  return share;
}

}  // namespace gandem
