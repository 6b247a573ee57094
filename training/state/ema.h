// SPDX-License-Identifier: Apache-2.0
//
// Exponential moving average of parameters and float buffers: average = decay *
// average + (1 - decay) * network. Copies counters (models.md 6.1).
//
// Owner: the generator's worker loop; shares both networks' tensors.
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
    // Images after which a network's weight in the average has halved
    // (StyleGAN): the decay is 0.5^(batch_size / half-life). 0: uses `decay`.
    double half_life_images = 0;
    // Limits the half-life to this multiple of the images before the round, so
    // that the random initial weights are soon forgotten. 0: no limit.
    double ramp_up = 0;
    // Images during which the half-life rises from 0 on half a cosine (Huang et
    // al. 2024). 0: constant half-life.
    int64_t half_life_ramp_images = 0;
    int64_t batch_size = 1;   // images per round, for half_life_images
    int64_t start_round = 0;  // earlier updates make plain copies
    // Rounds between calls of Update. Each call weighs as much as one call per
    // round with the same network.
    int64_t rounds_per_update = 1;
    bool copy_buffers = false;  // copy float buffers, as in StyleGAN2
  };

  // Copies `network` into `average`, which has the same type and device.
  Ema(const Options& options, const torch::nn::Module& network,
      torch::nn::Module& average);

  // Returns the weight of the old average in `round`.
  double Decay(int64_t round) const;

  // Must be called after the generator step of `round`, counted from 0.
  void Update(int64_t round);

 private:
  struct Pairs {
    std::vector<at::Tensor> sources;
    std::vector<at::Tensor> averages;
  };
  const Options options_;
  Pairs averaged_;
  Pairs copied_;
};

// Copies parameters and buffers between networks of the same architecture,
// which may differ in type, device and memory layout.
void CopyNetwork(const torch::nn::Module& source, torch::nn::Module& target);

}  // namespace gandem
