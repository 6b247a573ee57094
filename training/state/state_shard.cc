// SPDX-License-Identifier: Apache-2.0
#include "training/state/state_shard.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/crc32c.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {

void StateShard::Add(const std::string& prefix, const TensorsByName& tensors,
                     StateChanges changes) {
  for (const auto& [name, tensor] : tensors) {
    parts_.push_back({.name = prefix + name,
                      .bytes = static_cast<int64_t>(tensor.nbytes()),
                      .live = tensor,
                      .changes = changes});
  }
}

void StateShard::Add(NamedTensor tensor) {
  parts_.push_back({.name = tensor.name,
                    .bytes = static_cast<int64_t>(tensor.bytes.size())});
  parts_.back().held = std::move(tensor);
}

// All ranks split the same list in the same way, without communication.
std::vector<const StateShard::Part*> StateShard::Share() const {
  std::vector<StatePart> parts;
  for (const Part& part : parts_) {
    parts.push_back({.name = part.name, .bytes = part.bytes});
  }
  const std::vector<int> rank_of = SplitState(parts, ranks_);
  std::vector<const Part*> share;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (rank_of[i] == rank_) share.push_back(&parts_[i]);
  }
  return share;
}

std::vector<NamedTensor> StateShard::Copy() const {
  std::vector<NamedTensor> copy;
  for (const Part* part : Share()) {
    if (part->live.defined()) {
      AppendTensors("", {{part->name, part->live}}, copy);
    } else {
      copy.push_back(part->held);
    }
  }
  return copy;
}

std::shared_ptr<TensorSnapshot> StateShard::Snapshot(
    SnapshotBuffers& buffers) const {
  const torch::NoGradGuard no_grad;
  std::vector<NamedTensor> tensors;
  std::vector<bool> is_live;
  for (const Part* part : Share()) {
    const at::Tensor& live = part->live;
    is_live.push_back(live.defined() &&
                      part->changes == StateChanges::kInUpdates &&
                      live.is_cpu() && live.is_contiguous());
    if (!live.defined()) {
      tensors.push_back(part->held);
    } else if (is_live.back()) {
      tensors.push_back(ViewAsNamed(part->name, live));
    } else {
      at::Tensor& buffer = buffers[part->name];
      if (!buffer.defined()) {
        buffer = torch::empty(
            live.sizes(),
            torch::dtype(live.scalar_type()).pinned_memory(live.is_cuda()));
      }
      tensors.push_back(ViewAsNamed(part->name, buffer.copy_(live)));
    }
  }
  return std::make_shared<TensorSnapshot>(std::move(tensors),
                                          std::move(is_live));
}

TensorChecksums StateShard::Checksums() const {
  TensorChecksums checksums;
  if (ranks_ == 1) return checksums;
  for (const Part& part : parts_) {
    const NamedTensor named =
        part.live.defined()
            ? ViewAsNamed(part.name, part.live.to(at::kCPU).contiguous())
            : part.held;
    checksums.emplace(part.name, ChecksumText(Crc32c(named.bytes.span())));
  }
  return checksums;
}

std::string StateShard::FirstInfinite() const {
  for (const Part* part : Share()) {
    if (part->live.defined() && !IsFinite(part->live)) return part->name;
  }
  return "";
}

}  // namespace gandem
