// SPDX-License-Identifier: Apache-2.0
//
// Adversarial losses (docs/reference/losses.md). Most are sums of a real and a
// generated part, each with its own forward and backward pass. A relativistic
// loss couples both. common/config/loss_needs.h lists the inputs of each loss.
//
// A micro-batch's loss is the sum over its images divided by the batch size of
// the whole step. Gradients accumulated over micro-batches therefore are those
// of the batch mean. Outputs are [N, ...]: several logits of an image in one
// output (a patch discriminator) are averaged, and the loss of several outputs
// is the mean of their losses (models/logits.h).
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/logits.h"
#include "proto/config.pb.h"

namespace gandem {

// True if the loss couples real and generated images. Only the pair functions
// accept such a loss.
bool IsRelativistic(Loss loss);

// Means over each image of values [N, ...], as [N].
at::Tensor PerImage(const at::Tensor& values);
// Mean over the batch of losses [N, ...].
at::Tensor BatchMean(const at::Tensor& losses, int64_t batch_size);
// Sum over images of an image's mean logit.
at::Tensor LogitSum(const Logits& logits);

// The real part of the discriminator's loss.
at::Tensor RealLoss(Loss loss, const Logits& logits, int64_t batch_size);
// The generated part of the discriminator's loss.
at::Tensor GeneratedLoss(Loss loss, const Logits& logits, int64_t batch_size);
// The generator's loss; `logits` are the critic's logits of generated images.
at::Tensor GeneratorLoss(Loss loss, const Logits& logits, int64_t batch_size);
// Each image's share of GeneratorLoss, [N].
at::Tensor GeneratorLosses(Loss loss, const Logits& logits, int64_t batch_size);
// The derivatives of GeneratedLoss and GeneratorLoss at each logit of an
// output.
at::Tensor GeneratedSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);
at::Tensor GeneratorSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);

// Isola et al. 2017, equation 3: `weight` times the mean absolute difference
// between images and their targets. Adds its gradient with respect to the
// images to `gradient_NCHW` and returns the micro-batch's share of the loss.
at::Tensor AddPairedL1(const at::Tensor& images_NCHW,
                       const at::Tensor& targets_NCHW, double weight,
                       int64_t batch_size, const at::Tensor& gradient_NCHW);

// Relativistic losses of whole batches, which must have equal sizes.
at::Tensor DiscriminatorPairLoss(Loss loss, const Logits& real_logits,
                                 const Logits& generated_logits);
at::Tensor GeneratorPairLoss(Loss loss, const Logits& real_logits,
                             const Logits& generated_logits);

}  // namespace gandem
