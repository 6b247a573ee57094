// SPDX-License-Identifier: Apache-2.0
//
// Where and in which types a role computes. A network's own part of it is set
// once, by models/autocast.h and by the layout of its weights; the rest belongs
// to the thread or to the process and is set when a role gets its turn.
//
// Thread safety: values, and the calling thread; KernelScope sets a state of
// the process, from its one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "exchange/encoding.h"

namespace gandem {

struct Compute {
  at::Device device = at::kCPU;
  // Of parameters, images, losses and everything that is not autocast.
  at::ScalarType dtype = at::kFloat;
  Layout layout = Layout::kNchw;
  int threads = 1;  // of one operation
  // What the factors of products are cast to: kBFloat16 or kHalf.
  std::optional<at::ScalarType> autocast = {};
  bool tf32 = false;  // on a GPU: tensor cores for float32
  // On a GPU: algorithms that add in a fixed order. Without it the fastest by
  // trial.
  bool deterministic = true;

  // Whether small gradients become 0 unless the loss is scaled.
  bool NeedsLossScale() const { return autocast == at::kHalf; }
};

// Makes the calling thread's operations run on compute.threads threads.
void UseThreads(const Compute& compute);

// A copy of a tensor on the CPU, or the tensor itself where that is the device.
// Work that a GPU has to do before is not waited for.
at::Tensor ToDevice(const at::Tensor& host, at::Device device);

// Until the end of the scope a GPU's kernels are those that `compute` asks for.
// LibTorch alone would use TF32 in convolutions and not in matrix products.
// What LibTorch cannot do deterministically is done all the same, and it says
// so once.
class KernelScope {
 public:
  explicit KernelScope(const Compute& compute);
  ~KernelScope();
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;

 private:
  struct Before;
  const std::unique_ptr<const Before> before_;  // null: not a GPU
};

}  // namespace gandem
