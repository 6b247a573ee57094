// SPDX-License-Identifier: Apache-2.0
//
// Differentiable augmentation of all images that the discriminator sees (Zhao
// et al. 2020, "Differentiable augmentation for data-efficient GAN training"),
// and augmented copies for consistency regularization (Zhang et al. 2020).
//
// Every draw is a pure function of (seed, purpose, step, index), independent of
// micro-batches, feedback modes, restarts and the enabled augmentations.
//
// Thread safety: pure functions. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "common/philox.h"

namespace gandem {

class AugmentationConfig;  // proto/config.proto

// Adaptive discriminator augmentation (ADA, Karras et al. 2020, "Training
// generative adversarial networks with limited data"), by the extra `ada`.
struct AdaOptions {
  double target = 0.6;               // target mean sign of the real logits
  double p = 0;                      // initial value, in [0, 1]
  int64_t interval = 4;              // steps between evaluations of the signs
  int64_t images_to_full = 500'000;  // images for p to rise from 0 to 1
  bool adaptive = true;              // false: p is constant
};

struct AugmentOptions {
  bool color = false;      // brightness, saturation, contrast
  double translation = 0;  // maximum shift as a fraction of the side; 0: none
  double cutout = 0;  // side of the square as a fraction of the side; 0: none
  // Replaces the three augmentations above.
  std::optional<AdaOptions> ada = {};
  bool any() const { return color || translation > 0 || cutout > 0; }
};

AugmentOptions AugmentFrom(const AugmentationConfig& config);

// Images [first_index, first_index + count) of a step.
struct DrawKey {
  uint64_t seed = 0;
  Purpose purpose = Purpose::kAugmentation;
  int64_t step = 0;
  int64_t first_index = 0;

  DrawPlace place() const {
    return {.purpose = purpose, .step = step, .first_index = first_index};
  }
};

// Returns uniform numbers in [0, 1), float64 on the CPU. Row i has the first
// numbers of the stream of index first_index + i.
at::Tensor UniformDraws(const DrawKey& key, int64_t count, int64_t per_image);

// Draws of DiffAugment per image: brightness, saturation, contrast, row shift,
// column shift, row and column of the cutout's center.
constexpr int64_t kAugmentDraws = 7;

// Applies color, translation and cutout, in this order; the latter two fill
// with zeros. Gradients pass through.
at::Tensor DiffAugment(const at::Tensor& images_NCHW,
                       const AugmentOptions& options,
                       const at::Tensor& draws_N7);
at::Tensor DiffAugment(const at::Tensor& images_NCHW,
                       const AugmentOptions& options, const DrawKey& key);

// Draws of ConsistencyCopy per image: horizontal flip, row shift, column shift.
constexpr int64_t kConsistencyDraws = 3;

// Copies images, flips them with probability 1/2, and shifts them by up to 1/8
// of the side with reflection at the edges. The copy has no gradient.
at::Tensor ConsistencyCopy(const at::Tensor& images_NCHW,
                           const at::Tensor& draws_N3);

}  // namespace gandem
