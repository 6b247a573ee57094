// SPDX-License-Identifier: Apache-2.0
//
// The objective of both roles. Equal in all processes of a run, because any of
// them may judge images (training/objective/critic.h).
//
// Owner: values. Thread safety: plain values.
#pragma once

#include <cstdint>

#include "proto/config.pb.h"
#include "training/objective/class_losses.h"
#include "training/objective/diff_augment.h"
#include "training/objective/losses.h"
#include "training/objective/path_penalty.h"
#include "training/objective/penalties.h"

namespace gandem {

struct ObjectiveOptions {
  Loss loss = NON_SATURATING;
  ClassLossOptions class_loss = {};
  PenaltyOptions penalties = {};
  PathLengthOptions path_length = {};  // in the generator's loss
  AugmentOptions augmentation = {};
  // Weights of the generator's loss in image-to-image translation.
  double paired_l1 = 0;
  double paired_adversarial = 1;
  // FUSED with a single backward pass (training/objective/fused.h).
  bool fused_in_one_pass = false;
  uint64_t seed = 0;  // for augmentation and penalties

  bool has_class_loss() const {
    return class_loss.family != ClassLossConfig::NONE;
  }
};

}  // namespace gandem
