// SPDX-License-Identifier: Apache-2.0
#include "training/compute/place_network.h"

#include <torch/torch.h>

#include <utility>

#include "models/autocast.h"
#include "models/layers/layer.h"

namespace gandem {
namespace {

// Weights included: they choose the layout of what convolutions return.
void Convert(torch::nn::Module& network, const Compute& compute) {
  const torch::NoGradGuard no_grad;
  network.to(compute.device, compute.dtype);
  if (compute.layout != Layout::kChannelsLast) return;
  for (at::Tensor& parameter : network.parameters()) {
    if (parameter.dim() != 4) continue;
    parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

template <typename Network>
absl::StatusOr<std::shared_ptr<Network>> Place(std::shared_ptr<Network> network,
                                               const RoleConfig& role,
                                               const Compute& compute) {
  Convert(*network, compute);
  if (role.recompute_blocks() && RecomputeBlocks(*network) == 0) {
    return absl::InvalidArgumentError(
        "recompute_blocks: this network is not made of blocks; set it to "
        "false, or take micro_batch to save memory");
  }
  if (!compute.autocast.has_value()) return network;
  return WithAutocast(std::move(network), *compute.autocast);
}

}  // namespace

absl::StatusOr<std::shared_ptr<Generator>> PlaceNetwork(
    std::shared_ptr<Generator> network, const RoleConfig& role,
    const Compute& compute) {
  return Place(std::move(network), role, compute);
}

absl::StatusOr<std::shared_ptr<Discriminator>> PlaceNetwork(
    std::shared_ptr<Discriminator> network, const RoleConfig& role,
    const Compute& compute) {
  return Place(std::move(network), role, compute);
}

std::shared_ptr<Generator> PlaceAtRest(std::shared_ptr<Generator> network,
                                       const Compute& compute) {
  Convert(*network, compute);
  return network;
}

}  // namespace gandem
