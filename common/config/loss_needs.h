// SPDX-License-Identifier: Apache-2.0
//
// Requirements of each loss, for the validation of configs
// (common/config/loss_validate.cc) and for training.
//
// Thread safety: pure functions.
#pragma once

#include "proto/config.pb.h"

namespace gandem {

struct LossNeeds {
  // Compares images of a batch, so micro-batches would change the result.
  bool whole_batch = false;
  // Needs the critic's logits of real images in the generator's loss.
  bool real_images_in_generator_step = false;
  // Compares image i with image i, of the same class if there are classes.
  bool pairs = false;
  // Needs labels and a network that returns embeddings of images and classes.
  bool embeddings = false;
};

constexpr LossNeeds NeedsOf(Loss loss) {
  switch (loss) {
    case RELATIVISTIC_PAIRED:
      return {.whole_batch = true,
              .real_images_in_generator_step = true,
              .pairs = true};
    case RELATIVISTIC_AVERAGE:
      return {.whole_batch = true, .real_images_in_generator_step = true};
    case NON_SATURATING:
    case HINGE:
    case SATURATING:
    case LEAST_SQUARES:
    case WASSERSTEIN:
      break;
  }
  return {};
}

constexpr LossNeeds NeedsOf(ClassLossConfig::Family family) {
  switch (family) {
    case ClassLossConfig::CONTRASTIVE:
    case ClassLossConfig::D2D_CE:
      return {.whole_batch = true, .embeddings = true};
    case ClassLossConfig::NONE:
      break;
  }
  return {};
}

// Returns whether a penalty uses the discriminator's image gradients.
inline bool HasGradientPenalty(const PenaltyConfig& penalties) {
  return penalties.gradient_penalty() > 0 || penalties.dragan() > 0 ||
         penalties.r1() > 0 || penalties.r2() > 0;
}

}  // namespace gandem
