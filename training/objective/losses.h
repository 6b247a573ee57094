// SPDX-License-Identifier: Apache-2.0
//
// Adversarial losses (docs/reference/losses.md). Those of most are sums of a
// real and a generated part, each with its own forward and backward pass; a
// relativistic one couples both. What a loss needs is said in
// common/config/loss_needs.h.
//
// A micro-batch's loss is the sum over its images divided by the batch size of
// the whole step: gradients accumulated over micro-batches are those of the
// batch mean, whatever the micro-batches are. Outputs are [N, ...]: an image
// with several logits in one (a patch discriminator) counts with their mean,
// and a loss of several outputs is the mean of theirs (models/logits.h).
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/logits.h"
#include "proto/config.pb.h"

namespace gandem {

// Couples real and generated images: only the pair functions have a meaning.
bool IsRelativistic(Loss loss);

// An image's mean of values [N, ...], [N].
at::Tensor PerImage(const at::Tensor& values);
// Mean over the batch of losses [N, ...].
at::Tensor BatchMean(const at::Tensor& losses, int64_t batch_size);
// Sum over images of an image's mean logit.
at::Tensor LogitSum(const Logits& logits);

// The part of the discriminator's loss that real images make.
at::Tensor RealLoss(Loss loss, const Logits& logits, int64_t batch_size);
// The part that generated images make.
at::Tensor GeneratedLoss(Loss loss, const Logits& logits, int64_t batch_size);
// The generator's loss; `logits` are the critic's, of its images.
at::Tensor GeneratorLoss(Loss loss, const Logits& logits, int64_t batch_size);
// The same by image, [N]: what each adds.
at::Tensor GeneratorLosses(Loss loss, const Logits& logits, int64_t batch_size);
// The derivatives of GeneratedLoss and GeneratorLoss at each logit of an
// output.
at::Tensor GeneratedSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);
at::Tensor GeneratorSlopes(Loss loss, const at::Tensor& logits_N,
                           int64_t batch_size);

// Isola et al. 2017, equation 3: `weight` times the mean absolute difference of
// images and what they should become. Adds its gradient with respect to the
// images to `gradient_NCHW` and returns the micro-batch's share of the loss.
at::Tensor AddPairedL1(const at::Tensor& images_NCHW,
                       const at::Tensor& targets_NCHW, double weight,
                       int64_t batch_size, const at::Tensor& gradient_NCHW);

// Relativistic losses, of whole batches of one size.
at::Tensor DiscriminatorPairLoss(Loss loss, const Logits& real_logits,
                                 const Logits& generated_logits);
at::Tensor GeneratorPairLoss(Loss loss, const Logits& real_logits,
                             const Logits& generated_logits);

}  // namespace gandem
