// SPDX-License-Identifier: Apache-2.0
#include "training/compute/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

namespace gandem {

MemoryUse MemoryInUse(at::Device gpu) {
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(gpu.type());
  const auto [free, total] = allocator.getMemoryInfo(gpu.index());
  const c10::CachingAllocator::Stat reserved =
      allocator.getDeviceStats(gpu.index())
          .reserved_bytes[static_cast<size_t>(
              c10::CachingAllocator::StatType::AGGREGATE)];
  const auto now = static_cast<int64_t>(total - free);
  return {.now_bytes = now,
          .peak_bytes =
              now + std::max<int64_t>(0, reserved.peak - reserved.current)};
}

int64_t TotalMemory(at::Device gpu) {
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(gpu.type());
  return static_cast<int64_t>(allocator.getMemoryInfo(gpu.index()).second);
}

}  // namespace gandem
