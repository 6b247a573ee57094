// SPDX-License-Identifier: Apache-2.0
//
// What a config says of adaptive discriminator augmentation (ADA, Karras et al.
// 2020, "Training generative adversarial networks with limited data").
//
// Owner: values. Thread safety: plain values.
#pragma once

#include <cstdint>

namespace gandem {

struct AdaOptions {
  double target = 0.6;   // of the mean sign of the logits on real images
  double p = 0;          // where it begins, in [0, 1]
  int64_t interval = 4;  // steps from a look at the signs to the next
  int64_t images_to_full = 500'000;  // in which p goes from 0 to 1
  bool adaptive = true;              // false: p stays where it begins
};

}  // namespace gandem
