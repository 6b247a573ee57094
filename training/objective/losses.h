// SPDX-License-Identifier: Apache-2.0
//
// Adversarial losses (docs/losses.md). Those of most are sums of a real and a
// generated part, each with its own forward and backward pass; a relativistic
// one couples both. What a loss needs is said in common/config/loss_needs.h.
//
// A micro-batch's loss is the sum over its images divided by the batch size of
// the whole step: gradients accumulated over micro-batches are those of the
// batch mean, whatever the micro-batches are. Logits are [N, ...]: an image
// with several of them (a patch discriminator) counts with their mean.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

enum Loss : int;  // proto/config.proto

// With r the logits of real images, g of generated ones; means over the batch.
enum class AdversarialLoss {
  // Goodfellow et al. 2014, section 3: D: softplus(-r) + softplus(g); G:
  // softplus(-g).
  kNonSaturating,
  // The same paper, equation 1: G: -softplus(g).
  kSaturating,
  // Mao et al. 2017, equation 9: D: (r - 1)^2 / 2 + g^2 / 2; G: (g - 1)^2 / 2.
  kLeastSquares,
  // Lim and Ye 2017: D: relu(1 - r) + relu(1 + g); G: -g.
  kHinge,
  // Arjovsky et al. 2017: D: g - r; G: -g.
  kWasserstein,
  // Jolicoeur-Martineau 2018, RSGAN (RpGAN in R3GAN): D:
  // softplus(g - r); G: softplus(r - g), over pairs.
  kRelativisticPaired,
  // The same paper, RaSGAN: D: softplus(mean(g) - r) +
  // softplus(g - mean(r)); G: the same with r and g exchanged.
  kRelativisticAverage,
};

AdversarialLoss AdversarialLossOf(Loss loss);

// Couples real and generated images: only the pair functions have a meaning.
bool IsRelativistic(AdversarialLoss loss);

// An image's mean of values [N, ...], [N].
at::Tensor PerImage(const at::Tensor& values);
// Mean over the batch of losses [N, ...].
at::Tensor BatchMean(const at::Tensor& losses, int64_t batch_size);
// Sum over images of an image's mean logit.
at::Tensor LogitSum(const at::Tensor& logits);

// The part of the discriminator's loss that real images make.
at::Tensor RealLoss(AdversarialLoss loss, const at::Tensor& logits,
                    int64_t batch_size);
// The part that generated images make.
at::Tensor GeneratedLoss(AdversarialLoss loss, const at::Tensor& logits,
                         int64_t batch_size);
// The generator's loss; `logits` are the critic's, of its images.
at::Tensor GeneratorLoss(AdversarialLoss loss, const at::Tensor& logits,
                         int64_t batch_size);

// Isola et al. 2017, equation 3: `weight` times the mean absolute difference of
// images and what they should become. Adds its gradient with respect to the
// images to `gradient_NCHW` and returns the micro-batch's share of the loss.
double AddPairedL1(const at::Tensor& images_NCHW,
                   const at::Tensor& targets_NCHW, double weight,
                   int64_t batch_size, const at::Tensor& gradient_NCHW);

// Relativistic losses, of whole batches of one size.
at::Tensor DiscriminatorPairLoss(AdversarialLoss loss,
                                 const at::Tensor& real_logits,
                                 const at::Tensor& generated_logits);
at::Tensor GeneratorPairLoss(AdversarialLoss loss,
                             const at::Tensor& real_logits,
                             const at::Tensor& generated_logits);

}  // namespace gandem
