// SPDX-License-Identifier: Apache-2.0
//
// Options shared by a network's layers, and functions that apply them.
//
// Thread safety: pure functions.
#pragma once

#include <memory>

#include "models/layers/layer.h"
#include "models/layers/weighted.h"

namespace gandem {

struct LayerStyle {
  double norm_eps = 1e-5;
  bool spectral_norm = false;
  double spectral_norm_eps = 1e-12;
  double init_gain = 1;  // layer.h
  // If > 0, conditional batch norm (conditional_batch_norm.h) replaces batch
  // norm. Its condition has this many numbers (A) or, with per_class, classes.
  // With spectral_norm its linear maps have spectral norm, too.
  int64_t condition_dim = 0;
  bool per_class = false;
};

std::shared_ptr<Layer> MakeNorm(int64_t channels, const LayerStyle& style);

// Keeps height and width; `kernel` is odd.
std::shared_ptr<Conv2d> MakeConvolution(int64_t in_channels,
                                        int64_t out_channels, int64_t kernel,
                                        const LayerStyle& style = {},
                                        bool bias = true);

std::shared_ptr<Linear> MakeLinear(int64_t in_features, int64_t out_features,
                                   const LayerStyle& style = {},
                                   bool bias = true);

}  // namespace gandem
