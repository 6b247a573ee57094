// SPDX-License-Identifier: Apache-2.0
//
// Adversarial losses. The discriminator's loss is a sum of a real and a
// generated part, so each part has its own forward and backward pass.
//
// A micro-batch's loss is the sum over its logits divided by the batch size of
// the whole step: gradients accumulated over micro-batches are those of the
// batch mean, whatever the micro-batches are.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

enum Loss : int;  // proto/config.proto

enum class AdversarialLoss {
  // Goodfellow et al. 2014, section 3: D: softplus(-r) + softplus(g); G:
  // softplus(-g).
  kNonSaturating,
  // Lim and Ye 2017: D: relu(1 - r) + relu(1 + g); G: -g.
  kHinge,
};

AdversarialLoss AdversarialLossOf(Loss loss);

// Of the discriminator, r = `logits_N` on real images.
at::Tensor RealLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                    int64_t batch_size);
// Of the discriminator, g = `logits_N` on generated images.
at::Tensor GeneratedLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                         int64_t batch_size);
// Of the generator, g = `logits_N` of the critic on its images.
at::Tensor GeneratorLoss(AdversarialLoss loss, const at::Tensor& logits_N,
                         int64_t batch_size);

}  // namespace gandem
