// SPDX-License-Identifier: Apache-2.0
//
// Adversarial losses (docs/reference/losses.md). Most are sums of a real and a
// generated part with separate forward and backward passes. Relativistic losses
// couple both. common/config/loss_needs.h lists each loss's inputs.
//
// A micro-batch's loss is the sum over its images divided by the step's whole
// batch size, so that accumulated gradients are those of the batch mean.
// Outputs are [N, ...]: several logits per image in one output (a patch
// discriminator) are averaged, and the loss of several outputs is the mean of
// their losses (models/logits.h).
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/logits.h"
#include "proto/config.pb.h"

namespace gandem {

// Returns whether the loss couples real and generated images. Only the pair
// functions accept such a loss.
bool IsRelativistic(Loss loss);

// Averages values [N, ...] over each image; returns [N].
at::Tensor PerImage(const at::Tensor& values);
// Averages losses [N, ...] over the batch.
at::Tensor BatchMean(const at::Tensor& losses, int64_t batch_size);
// Returns the sum over images of the mean logit.
at::Tensor LogitSum(const Logits& logits);

// Returns the real part of the discriminator's loss.
at::Tensor RealLoss(Loss loss, const Logits& logits, int64_t batch_size);
// Returns the generated part of the discriminator's loss.
at::Tensor GeneratedLoss(Loss loss, const Logits& logits, int64_t batch_size);
// Returns the generator's loss for the critic's logits of generated images.
at::Tensor GeneratorLoss(Loss loss, const Logits& logits, int64_t batch_size);
// Returns each image's share of GeneratorLoss, [N].
at::Tensor GeneratorLosses(Loss loss, const Logits& logits, int64_t batch_size);
// Return the derivatives of GeneratedLoss and GeneratorLoss at each logit.
at::Tensor GeneratedSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);
at::Tensor GeneratorSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);

// Computes `weight` times the mean absolute difference between images and
// targets (Isola et al. 2017, equation 3). Adds the images' gradient to
// `gradient_NCHW` and returns the micro-batch's share of the loss.
at::Tensor AddPairedL1(const at::Tensor& images_NCHW,
                       const at::Tensor& targets_NCHW, double weight,
                       int64_t batch_size, const at::Tensor& gradient_NCHW);

// Compute relativistic losses of whole batches, which must have equal sizes.
at::Tensor DiscriminatorPairLoss(Loss loss, const Logits& real_logits,
                                 const Logits& generated_logits);
at::Tensor GeneratorPairLoss(Loss loss, const Logits& real_logits,
                             const Logits& generated_logits);

}  // namespace gandem
