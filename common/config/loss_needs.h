// SPDX-License-Identifier: Apache-2.0
//
// Requirements of each loss, stated once. The validation of a config checks
// them (common/config/loss_validate.cc), and training reads from them how to
// feed the loss.
//
// Thread safety: pure functions.
#pragma once

#include "proto/config.pb.h"

namespace gandem {

struct LossNeeds {
  // Compares the images of a batch with each other: micro-batches would change
  // what is computed, not only in which order.
  bool whole_batch = false;
  // The generator's loss contains the critic's logits of real images.
  bool real_images_in_generator_step = false;
  // Compares image i with image i: of one class, where there are classes.
  bool pairs = false;
  // A network that gives embeddings of images and of classes, and labels.
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

// Is there a penalty on the gradient of the discriminator with respect to its
// images?
inline bool HasGradientPenalty(const PenaltyConfig& penalties) {
  return penalties.gradient_penalty() > 0 || penalties.dragan() > 0 ||
         penalties.r1() > 0 || penalties.r2() > 0;
}

}  // namespace gandem
