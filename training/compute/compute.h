// SPDX-License-Identifier: Apache-2.0
//
// Where and in which types a role computes. A network's own part of it is set
// once, by models/autocast.h and by the layout of its weights; the rest belongs
// to the thread or to the process and is set when a role gets its turn.
//
// Thread safety: values, and the calling thread; TF32 is a state of the process
// that one compute thread sets. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

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

  // Whether small gradients become 0 unless the loss is scaled.
  bool NeedsLossScale() const { return autocast == at::kHalf; }
};

// Makes the calling thread's operations run on compute.threads threads.
void UseThreads(const Compute& compute);

// float32 on a GPU is what `compute` says until the end of the scope: LibTorch
// alone would use TF32 in convolutions and not in matrix products.
class Tf32Scope {
 public:
  explicit Tf32Scope(const Compute& compute);
  ~Tf32Scope();
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;

 private:
  const bool active_;
  const bool convolutions_before_;
  const bool products_before_;
};

}  // namespace gandem
