// SPDX-License-Identifier: Apache-2.0
//
// The probability p of adaptive discriminator augmentation (Karras et al. 2020,
// section 3): it rises while the discriminator is surer of real images than the
// target says, and falls otherwise.
//
// p is a buffer of the discriminator's network, beside its parameters: a
// version of the discriminator has its own p, wherever it judges, and so has a
// checkpoint. The buffer counts images, so that no rounding adds up: p is that
// count over AdaOptions::images_to_full.
//
// Owner: the discriminator's objective; functions are pure.
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>

#include "training/objective/augment.h"

namespace gandem {

// Gives a discriminator the buffer if p adapts. Once per network.
void RegisterAdaBuffer(const AdaOptions& options,
                       torch::nn::Module& discriminator);

// Of a network without the buffer: where p begins.
double AdaProbabilityOf(const AdaOptions& options,
                        const torch::nn::Module& discriminator);

class AdaProbability : public AdaController {
 public:
  // `discriminator` outlives this and has the buffer if p adapts. Steps have
  // `batch_size` real images, over all ranks.
  AdaProbability(const AdaOptions& options, torch::nn::Module* discriminator,
                 int64_t batch_size);

  void Add(const at::Tensor& logits) override;
  // Counts signs and, after every interval-th step, moves p.
  void EndStep(int64_t step, FleetGather* fleet) override;
  double p() const override;
  std::optional<double> mean_sign() const override;
  TensorsByName State() const override;

 private:
  const AdaOptions options_;
  torch::nn::Module* const discriminator_;
  const int64_t batch_size_;
  int64_t step_signs_ = 0;   // of this rank in this step
  int64_t step_logits_ = 0;  // and how many they are
  // int64: sum of signs and number of logits since the last look, and the same
  // at that look. Undefined: p does not adapt.
  at::Tensor counts_4_;
};

}  // namespace gandem
