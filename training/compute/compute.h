// SPDX-License-Identifier: Apache-2.0
//
// Device, types, layout and thread count with which a role computes. Networks
// are set up once, by models/autocast.h and the layout of their weights;
// threads and the process whenever the role starts to compute.
//
// Thread safety: UseThreads affects the calling thread. KernelScope sets
// process state; only the single compute thread may use it.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "exchange/encoding.h"

namespace gandem {

struct Compute {
  at::Device device = at::kCPU;
  // Type of parameters, images, losses and everything not autocast.
  at::ScalarType dtype = at::kFloat;
  Layout layout = Layout::kNchw;
  int threads = 1;  // threads per operation
  // Type to which operands of products are cast: kBFloat16 or kHalf.
  std::optional<at::ScalarType> autocast = {};
  bool tf32 = false;  // on a GPU: tensor cores for float32
  // On a GPU, true selects algorithms that add in a fixed order, false the
  // fastest ones measured by cuDNN.
  bool deterministic = true;

  // Returns whether small gradients become 0 unless the loss is scaled.
  bool NeedsLossScale() const { return autocast == at::kHalf; }
};

void UseThreads(const Compute& compute);

// Copies a CPU tensor to `device` without waiting for the GPU. Returns `host`
// itself if the device is the CPU.
at::Tensor ToDevice(const at::Tensor& host, at::Device device);

// Selects the GPU kernels for `compute` until the end of the scope. By default,
// LibTorch uses TF32 in convolutions but not in matrix products. Operations
// without a deterministic algorithm run anyway, with one warning.
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
