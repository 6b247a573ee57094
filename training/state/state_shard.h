// SPDX-License-Identifier: Apache-2.0
//
// One rank's share of a state that all ranks of a fleet have. Copying only the
// share keeps the stall of a checkpoint short.
//
// Owner: a role, while it saves. Thread safety: the compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/tensor_snapshot.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

// kAnytime: tensors may change in forward passes and updates.
enum class StateChanges { kAnytime, kInUpdates };

// Host memory reused by successive snapshots, by tensor name.
using SnapshotBuffers = std::map<std::string, at::Tensor>;

class StateShard {
 public:
  // Makes the share of `rank`; all `ranks` ranks must add equal tensors.
  StateShard(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  // Adds tensors named prefix + name.
  void Add(const std::string& prefix, const TensorsByName& tensors,
           StateChanges changes = StateChanges::kAnytime);
  // Adds a constant tensor.
  void Add(NamedTensor tensor);

  // Copies this rank's share to the CPU, in the order of Add.
  std::vector<NamedTensor> Copy() const;
  // Makes a snapshot of the share that must be detached before the next update.
  // Copies tensors that may change earlier, or are not contiguous on the CPU,
  // into `buffers`, which must not be used until the snapshot is destroyed.
  std::shared_ptr<TensorSnapshot> Snapshot(SnapshotBuffers& buffers) const;

  // Returns checksums of the whole current state; empty for a single rank.
  TensorChecksums Checksums() const;
  // Returns the name of the first tensor of this rank's share that is not
  // finite; empty if there is none.
  std::string FirstInfinite() const;

 private:
  struct Part {
    std::string name;
    int64_t bytes = 0;
    at::Tensor live = {};  // undefined: the tensor is `held`
    NamedTensor held = {};
    StateChanges changes = StateChanges::kAnytime;
  };

  std::vector<const Part*> Share() const;

  const int rank_;
  const int ranks_;
  std::vector<Part> parts_;
};

}  // namespace gandem
