// SPDX-License-Identifier: Apache-2.0
#include "training/compute/parse_device.h"

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

}  // namespace gandem
