// SPDX-License-Identifier: Apache-2.0
//
// The device, types, layout and thread count with which a role computes. A
// network's part is set once, by models/autocast.h and the layout of its
// weights. The settings of the thread and of the process are set whenever the
// role starts to compute.
//
// Thread safety: UseThreads affects the calling thread. KernelScope sets state
// of the process; only the one compute thread may use it.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "exchange/encoding.h"

namespace gandem {

struct Compute {
  at::Device device = at::kCPU;
  // Type of parameters, images, losses and everything that is not autocast.
  at::ScalarType dtype = at::kFloat;
  Layout layout = Layout::kNchw;
  int threads = 1;  // threads per operation
  // Type to which the operands of products are cast: kBFloat16 or kHalf.
  std::optional<at::ScalarType> autocast = {};
  bool tf32 = false;  // on a GPU: tensor cores for float32
  // On a GPU, true selects algorithms that add in a fixed order, false the
  // fastest ones as measured by cuDNN.
  bool deterministic = true;

  // True if small gradients become 0 unless the loss is scaled.
  bool NeedsLossScale() const { return autocast == at::kHalf; }
};

// Makes the calling thread's operations run on compute.threads threads.
void UseThreads(const Compute& compute);

// Copies a tensor of the CPU to `device`; returns `host` itself if that is the
// CPU. Does not wait for the GPU.
at::Tensor ToDevice(const at::Tensor& host, at::Device device);

// Selects the GPU kernels that `compute` asks for until the end of the scope.
// By default, LibTorch uses TF32 in convolutions but not in matrix products.
// Operations without a deterministic algorithm run anyway, with one warning.
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
