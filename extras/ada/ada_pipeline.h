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
// Blitting and geometry are one affine transform of each image. It samples an
// image of twice the size (symlet filters of 12 taps up and down), which is
// reflected at the edges. Color is one 4x4 matrix. Images are transformed one
// by one, so an image has the same bits in any batch. An image that no
// augmentation hits keeps its bits.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

// Uniform numbers that each image takes from its stream.
constexpr int64_t kAdaDraws = 33;

// Augments images of 3 channels, or of 1 (luma, without hue and saturation).
// Differentiable.
at::Tensor AdaAugment(const at::Tensor& images_NCHW, double p,
                      const at::Tensor& draws_NK);

}  // namespace gandem
