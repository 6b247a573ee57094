// SPDX-License-Identifier: Apache-2.0
//
// The augmentations of adaptive discriminator augmentation (ADA, Karras et al.
// 2020, "Training generative adversarial networks with limited data", appendix
// B): pixel blitting, geometry and color, each applied with probability p.
//
//   blitting  flip, multiples of 90 degrees, shift by whole pixels
//   geometry  scale, rotation before and after a stretch, shift
//   color     brightness, contrast, luma flip, hue, saturation
//
// The first two are one affine transform of each image, read between pixels of
// an image that is twice as large (symlet filters of 12 taps on the way up and
// down) and that goes on as its reflection at the edges; color is one 4x4
// matrix. Images come one by one, so that an image has the same bits in any
// batch. What no augmentation has hit keeps its bits.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

// What an image takes of its stream: uniform numbers, in the order of
// ada_pipeline.cc.
constexpr int64_t kAdaDraws = 33;

// Of 1 channel (luma: without hue and saturation) or 3. The gradient passes
// through.
at::Tensor AdaAugment(const at::Tensor& images_NCHW, double p,
                      const at::Tensor& draws_NK);

}  // namespace gandem
