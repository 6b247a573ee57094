// SPDX-License-Identifier: Apache-2.0
#include "training/compute/devices.h"

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {

absl::StatusOr<at::Device> ParseDevice(const std::string& text) {
  if (text.empty()) return at::Device(at::kCPU);
  at::Device device = at::kCPU;
  const absl::Status parsed = CatchTorch([&] {
    device = at::Device(text);
    return absl::OkStatus();
  });
  if (!parsed.ok() || (!device.is_cpu() && !device.is_cuda())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no device '", text, "'; expected cpu or cuda:N"));
  }
  if (!device.is_cuda()) return device;
  if (!torch::cuda::is_available()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", text, ": this machine or this LibTorch has no CUDA"));
  }
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (device.index() >= count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", text, ": this machine has cuda:0 to cuda:", count - 1));
  }
  return device;
}

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
