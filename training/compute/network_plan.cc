// SPDX-License-Identifier: Apache-2.0
#include "training/compute/network_plan.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

std::optional<at::ScalarType> ToAutocast(RoleConfig::Precision precision) {
  if (precision == RoleConfig::BFLOAT16) return at::kBFloat16;
  if (precision == RoleConfig::FLOAT16) return at::kHalf;
  return std::nullopt;
}

}  // namespace

Layout LayoutOf(MemoryLayout layout) {
  return layout == CHANNELS_LAST ? Layout::kChannelsLast : Layout::kNchw;
}

absl::StatusOr<Compute> ComputeFrom(const NetworkPlan& plan,
                                    const ComputeChoice& choice) {
  const at::Device device(plan.device);
  if (device.is_cuda()) {
    const int64_t present = static_cast<int64_t>(torch::cuda::device_count());
    if (device.index() >= present) {
      return absl::FailedPreconditionError(absl::StrCat(
          "device: \"", plan.device, "\" is not there: this machine has ",
          present, " CUDA devices",
          present == 0 ? " that this build can use (GANDEM_CUDA=ON, a CUDA "
                         "LibTorch and a driver are needed)"
                       : "",
          "; --set generator.device=cpu --set discriminator.device=cpu runs "
          "without"));
    }
  }
  GANDEM_CHECK(choice.precision() != RoleConfig::AUTO &&
               choice.layout() != AUTO);
  return Compute{
      .device = device,
      .dtype =
          choice.precision() == RoleConfig::FLOAT64 ? at::kDouble : at::kFloat,
      .layout = LayoutOf(choice.layout()),
      .threads = plan.threads,
      .autocast = ToAutocast(choice.precision()),
      .tf32 = choice.precision() == RoleConfig::TF32,
      .deterministic = plan.deterministic,
  };
}

std::string DeviceOf(const NetworkPlan& plan, int position, int num_gpus) {
  if (plan.device != "cuda") return plan.device;
  if (num_gpus == 0) return "cuda:0";  // reported by ComputeFrom
  const int place = position % num_gpus;
  return absl::StrCat("cuda:",
                      plan.role == GENERATOR ? place : num_gpus - 1 - place);
}

}  // namespace gandem
