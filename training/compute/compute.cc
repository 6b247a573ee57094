// SPDX-License-Identifier: Apache-2.0
#include "training/compute/compute.h"

#include "models/torch.h"

namespace gandem {

void UseThreads(const Compute& compute) {
  if (at::get_num_threads() != compute.threads) {
    at::set_num_threads(compute.threads);
  }
}

Tf32Scope::Tf32Scope(const Compute& compute)
    : active_(compute.device.is_cuda()),
      convolutions_before_(active_ && at::globalContext().allowTF32CuDNN()),
      products_before_(active_ && at::globalContext().allowTF32CuBLAS()) {
  if (!active_) return;
  at::globalContext().setAllowTF32CuDNN(compute.tf32);
  at::globalContext().setAllowTF32CuBLAS(compute.tf32);
}

Tf32Scope::~Tf32Scope() {
  if (!active_) return;
  at::globalContext().setAllowTF32CuDNN(convolutions_before_);
  at::globalContext().setAllowTF32CuBLAS(products_before_);
}

}  // namespace gandem
