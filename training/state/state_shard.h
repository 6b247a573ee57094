// SPDX-License-Identifier: Apache-2.0
//
// What one rank writes of a state that all ranks of its fleet have. Only that
// is copied, so that a checkpoint stalls a step no longer than it must.
//
// Owner: a role, while it saves. Thread safety: the compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/checkpoint/safetensors.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class StateShard {
 public:
  // The share of `rank` of so many. All ranks add the same names and sizes.
  StateShard(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  // Named prefix + name.
  void Add(const std::string& prefix, const TensorsByName& tensors);
  // Bytes that change no more.
  void Add(NamedTensor tensor);

  // This rank's share as it is now, on the CPU, in the order of Add.
  std::vector<NamedTensor> Copy() const;

 private:
  struct Part {
    std::string name;
    int64_t bytes = 0;
    at::Tensor live = {};  // undefined: `held` is it
    NamedTensor held = {};
  };

  const int rank_;
  const int ranks_;
  std::vector<Part> parts_;
};

}  // namespace gandem
