// SPDX-License-Identifier: Apache-2.0
//
// Exponential moving average of a network: parameters and float buffers are
// averaged, average = decay * average + (1 - decay) * network; counters are
// copied (models.md 6.1).
//
// Owner: the generator's worker loop; it shares both networks' tensors.
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

namespace gandem {

class Ema {
 public:
  struct Options {
    double decay = 0.999;  // [0, 1); 0: a plain copy
    // Images after which a network has half its weight left (StyleGAN); then
    // decay is 0.5^(batch_size / half-life). 0: `decay` counts.
    double half_life_images = 0;
    // The half-life is at most this times the images before the round, so that
    // the random start is forgotten soon. 0: no such limit.
    double ramp_up = 0;
    // Images after which the half-life is reached, on half a cosine from 0
    // (Huang et al. 2024). 0: from the first on.
    int64_t half_life_ramp_images = 0;
    int64_t batch_size = 1;   // images per round, for half_life_images
    int64_t start_round = 0;  // before it a plain copy
    // Update is called at the end of every so many rounds only, and weighs as
    // much as if it had been called in each with the same network.
    int64_t rounds_per_update = 1;
    bool copy_buffers = false;  // float buffers are copied, as in StyleGAN2
  };

  // `average` is a twin of `network` from the registry, with the same type and
  // device; it becomes a copy.
  Ema(const Options& options, const torch::nn::Module& network,
      torch::nn::Module& average);

  // Weight of the old average in `round`.
  double Decay(int64_t round) const;

  // After the generator step of `round`, counted from 0.
  void Update(int64_t round);

 private:
  struct Pairs {
    std::vector<at::Tensor> sources;
    std::vector<at::Tensor> averages;
  };
  const Options options_;
  Pairs averaged_;
  Pairs copied_;  // always
};

// Copies parameters and buffers; the networks are twins from the registry, but
// may differ in type, device and memory layout.
void CopyNetwork(const torch::nn::Module& source, torch::nn::Module& target);

}  // namespace gandem
