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

#include <utility>
#include <vector>

namespace gandem {

class Ema {
 public:
  struct Options {
    double decay = 0.999;     // [0, 1); 0: a plain copy
    int64_t start_round = 0;  // before it a plain copy
  };

  // `average` is a twin of `network` from the registry, with the same type and
  // device; it becomes a copy.
  Ema(const Options& options, const torch::nn::Module& network,
      torch::nn::Module& average);

  // After the generator step of `round`.
  void Update(int64_t round);

 private:
  struct Pair {
    at::Tensor source;
    at::Tensor average;
  };
  const Options options_;
  std::vector<Pair> pairs_;
};

// Copies parameters and buffers; the networks are twins from the registry, but
// may differ in type, device and memory layout.
void CopyNetwork(const torch::nn::Module& source, torch::nn::Module& target);

}  // namespace gandem
