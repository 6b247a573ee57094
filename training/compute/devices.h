// SPDX-License-Identifier: Apache-2.0
//
// Devices by name, and the memory of GPUs.
//
// Thread safety: any thread.
// Errors: see ParseDevice; the memory functions throw Torch exceptions.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/process/machine.h"

namespace gandem {

// Parses "cpu" or "cuda:N"; empty means cpu.
//   INVALID_ARGUMENT  unknown name, or this machine lacks the device.
absl::StatusOr<at::Device> ParseDevice(const std::string& text);

// All memory of the GPU that is not free: the reserve of LibTorch's allocator
// (more than its tensors fill), the CUDA context, kernels and workspaces of the
// libraries, and other processes.
MemoryUse MemoryInUse(at::Device gpu);

// Bytes of the GPU's memory.
int64_t TotalMemory(at::Device gpu);

}  // namespace gandem
