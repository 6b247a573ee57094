// SPDX-License-Identifier: Apache-2.0
//
// The probability p of adaptive discriminator augmentation (Karras et al. 2020,
// section 3). It rises while the discriminator is surer of real images than the
// target, and falls otherwise.
//
// p is stored in a buffer of the discriminator's network, so each version of
// the discriminator and each checkpoint has its own p. The buffer counts
// images, so that rounding errors do not add up: p is the count divided by
// AdaOptions::images_to_full.
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

// Adds the buffer to a discriminator if p adapts. Call it once per network.
void RegisterAdaBuffer(const AdaOptions& options,
                       torch::nn::Module& discriminator);

// Current p of a network, or the initial p if the network has no buffer.
double AdaProbabilityOf(const AdaOptions& options,
                        const torch::nn::Module& discriminator);

class AdaProbability : public AdaController {
 public:
  // `discriminator` outlives this object, and has the buffer if p adapts.
  // `batch_size` is the number of real images per step over all ranks.
  AdaProbability(const AdaOptions& options, torch::nn::Module* discriminator,
                 int64_t batch_size);

  void Add(const at::Tensor& logits) override;
  // Counts signs and changes p after every interval-th step.
  void EndStep(int64_t step, FleetGather* fleet) override;
  double p() const override;
  std::optional<double> mean_sign() const override;
  TensorsByName State() const override;

 private:
  const AdaOptions options_;
  torch::nn::Module* const discriminator_;
  const int64_t batch_size_;
  int64_t step_signs_ = 0;   // sum on this rank in this step
  int64_t step_logits_ = 0;  // number of logits in that sum
  // int64: sum of signs and number of logits since p last changed, then the
  // same two at that change. Undefined if p does not adapt.
  at::Tensor counts_4_;
};

}  // namespace gandem
