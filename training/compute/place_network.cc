// SPDX-License-Identifier: Apache-2.0
#include "training/compute/place_network.h"

#include <utility>

#include "common/check.h"
#include "models/autocast.h"
#include "models/layers/layer.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Also converts weights, which determine the layout of a convolution's output.
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
std::shared_ptr<Network> Place(std::shared_ptr<Network> network,
                               bool recompute_blocks, const Compute& compute) {
  Convert(*network, compute);
  if (recompute_blocks) GANDEM_CHECK(RecomputeBlocks(*network) > 0);
  if (!compute.autocast.has_value()) return network;
  return WithAutocast(std::move(network), *compute.autocast);
}

}  // namespace

std::shared_ptr<Generator> PlaceNetwork(std::shared_ptr<Generator> network,
                                        bool recompute_blocks,
                                        const Compute& compute) {
  return Place(std::move(network), recompute_blocks, compute);
}

std::shared_ptr<Discriminator> PlaceNetwork(
    std::shared_ptr<Discriminator> network, bool recompute_blocks,
    const Compute& compute) {
  return Place(std::move(network), recompute_blocks, compute);
}

std::shared_ptr<Generator> PlaceAtRest(std::shared_ptr<Generator> network,
                                       const Compute& compute) {
  Convert(*network, compute);
  return network;
}

}  // namespace gandem
