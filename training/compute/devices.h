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
//   INVALID_ARGUMENT  an unknown name, or a device that this machine lacks.
absl::StatusOr<at::Device> ParseDevice(const std::string& text);

// Returns all memory of the GPU that is not free: memory reserved by LibTorch,
// CUDA context, kernels, library workspaces, and other processes.
MemoryUse MemoryInUse(at::Device gpu);

int64_t TotalMemory(at::Device gpu);

}  // namespace gandem
