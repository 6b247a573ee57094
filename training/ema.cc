// SPDX-License-Identifier: Apache-2.0
#include "training/ema.h"

#include <torch/torch.h>

#include "common/check.h"

namespace gandem {
namespace {

using Tensors = torch::OrderedDict<std::string, at::Tensor>;

// Calls `act(source tensor, target tensor)` for every parameter and buffer.
template <typename Act>
void ForEachPair(const torch::nn::Module& source,
                 const torch::nn::Module& target, Act act) {
  const auto visit = [&](const Tensors& sources, const Tensors& targets) {
    GANDEM_CHECK(sources.size() == targets.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      GANDEM_CHECK(sources[i].key() == targets[i].key());
      act(sources[i].value(), targets[i].value());
    }
  };
  visit(source.named_parameters(), target.named_parameters());
  visit(source.named_buffers(), target.named_buffers());
}

}  // namespace

Ema::Ema(const Options& options, const torch::nn::Module& network,
         torch::nn::Module& average)
    : options_(options) {
  CopyNetwork(network, average);
  ForEachPair(network, average,
              [this](const at::Tensor& source, const at::Tensor& target) {
                pairs_.push_back({source, target});
              });
}

void Ema::Update(int64_t round) {
  const torch::NoGradGuard no_grad;
  const bool copy = options_.decay == 0 || round < options_.start_round;
  for (Pair& pair : pairs_) {
    if (copy || !pair.source.is_floating_point()) {
      pair.average.copy_(pair.source);
    } else {
      pair.average.lerp_(pair.source, 1 - options_.decay);
    }
  }
}

void CopyNetwork(const torch::nn::Module& source, torch::nn::Module& target) {
  const torch::NoGradGuard no_grad;
  ForEachPair(source, target, [](const at::Tensor& from, const at::Tensor& to) {
    to.copy_(from);
  });
}

}  // namespace gandem
