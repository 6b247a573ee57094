// SPDX-License-Identifier: Apache-2.0
//
// Memory of a GPU, as a process that computes there finds it.
//
// Thread safety: any thread. Errors: Torch exceptions.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "common/process/machine.h"

namespace gandem {

// What LibTorch's allocator has reserved, which is more than tensors fill, and
// what else is not free: the context, the libraries' kernels and workspaces,
// and other processes, if the GPU has any.
MemoryUse MemoryInUse(at::Device gpu);

// All of it.
int64_t TotalMemory(at::Device gpu);

}  // namespace gandem
