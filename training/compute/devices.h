// SPDX-License-Identifier: Apache-2.0
//
// Devices by name, and the memory of GPUs as a process that computes there
// finds it.
//
// Thread safety: any thread. Errors: below; of memory, Torch exceptions.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/process/machine.h"

namespace gandem {

// "cpu" or "cuda:N"; empty: cpu.
//   INVALID_ARGUMENT  no such device, or none here.
absl::StatusOr<at::Device> ParseDevice(const std::string& text);

// What LibTorch's allocator has reserved, which is more than tensors fill, and
// what else is not free: the context, the libraries' kernels and workspaces,
// and other processes, if the GPU has any.
MemoryUse MemoryInUse(at::Device gpu);

// All of it.
int64_t TotalMemory(at::Device gpu);

}  // namespace gandem
