// SPDX-License-Identifier: Apache-2.0
#include "training/state/ema.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/check.h"
#include "common/half_cosine.h"
#include "models/torch.h"

namespace gandem {
namespace {

using Tensors = torch::OrderedDict<std::string, at::Tensor>;

// Calls act(source, target, is_buffer) for every parameter and buffer.
template <typename Act>
void ForEachPair(const torch::nn::Module& source,
                 const torch::nn::Module& target, Act act) {
  const auto visit = [&](const Tensors& sources, const Tensors& targets,
                         bool buffers) {
    GANDEM_CHECK(sources.size() == targets.size());
    for (size_t i = 0; i < sources.size(); ++i) {
      GANDEM_CHECK(sources[i].key() == targets[i].key());
      act(sources[i].value(), targets[i].value(), buffers);
    }
  };
  visit(source.named_parameters(), target.named_parameters(), false);
  visit(source.named_buffers(), target.named_buffers(), true);
}

}  // namespace

Ema::Ema(const Options& options, const torch::nn::Module& network,
         torch::nn::Module& average)
    : options_(options) {
  CopyNetwork(network, average);
  ForEachPair(network, average,
              [this](const at::Tensor& source, const at::Tensor& target,
                     bool is_buffer) {
                const bool is_frozen = !is_buffer && !source.requires_grad();
                Pairs& pairs = !source.is_floating_point() || is_frozen ||
                                       (is_buffer && options_.copy_buffers)
                                   ? copied_
                                   : averaged_;
                pairs.sources.push_back(source);
                pairs.averages.push_back(target);
              });
}

double Ema::Decay(int64_t round) const {
  if (round < options_.start_round) return 0;
  const double rounds = static_cast<double>(options_.rounds_per_update);
  if (options_.half_life_images == 0) {
    return rounds == 1 ? options_.decay : std::pow(options_.decay, rounds);
  }
  double half_life = options_.half_life_images;
  const double batch = static_cast<double>(options_.batch_size);
  const double images = batch * static_cast<double>(round);
  if (options_.ramp_up > 0) {
    half_life = std::min(half_life, options_.ramp_up * images);
  }
  if (options_.half_life_ramp_images > 0) {
    half_life = HalfCosine(0, half_life, images,
                           static_cast<double>(options_.half_life_ramp_images));
  }
  return half_life > 0 ? std::exp2(-batch * rounds / half_life) : 0;
}

void Ema::Update(int64_t round) {
  const torch::NoGradGuard no_grad;
  const double decay = Decay(round);
  for (const auto& [pairs, weight] :
       {std::pair(&averaged_, 1 - decay), std::pair(&copied_, 1.0)}) {
    if (pairs->sources.empty()) continue;
    if (weight == 1) {
      at::_foreach_copy_(pairs->averages, pairs->sources);
    } else {
      at::_foreach_lerp_(pairs->averages, pairs->sources, weight);
    }
  }
}

void CopyNetwork(const torch::nn::Module& source, torch::nn::Module& target) {
  const torch::NoGradGuard no_grad;
  ForEachPair(source, target,
              [](const at::Tensor& from, const at::Tensor& to, bool) {
                to.copy_(from);
              });
}

}  // namespace gandem
