// SPDX-License-Identifier: Apache-2.0
//
// Predicts the images that a config needs to reach a quality, relative to the
// best synchronous run of the same networks. Plans divide the speed by this
// number (docs/quality.md, "What the planner makes of it").
//
// The model of the lag was fitted by benchmarks/quality_fit.py to the study of
// docs/quality.md. Its terms are the square of the lag that optimism leaves,
// and the noise of optimism. Batches count through the gradient noise scale
// (noise_scale.h).
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "common/results/noise_scale.h"
#include "proto/config.pb.h"

namespace gandem {

// Factor on the images, between low and high with 95 % confidence.
struct ImagesNeeded {
  double factor = 1;
  double low = 1;
  double high = 1;
  std::string why;  // one or more sentences
};

// Smallest scale among the parts of each role's gradient, if measured.
struct NoiseScales {
  std::optional<NoiseScale> generator = {};
  std::optional<NoiseScale> discriminator = {};
};

// Predicts the images that `config` needs. The best synchronous run has the
// batches for which the learning rates were found: the base_batch_size of the
// optimizers (RememberBatches of optimizer_rules.h).
ImagesNeeded PredictImagesNeeded(const RunConfig& config,
                                 const NoiseScales& noise = {});

// Fields of a config that the model uses.
struct QualitySetting {
  double lag = 0;
  double steps = 1;  // R
  double generator_optimism = 0;
  double discriminator_optimism = 0;
  double generator_momentum = 0;  // beta1, or momentum
  double discriminator_momentum = 0;

  // Returns the lag that optimism leaves, with the effect of momentum.
  double Excess() const;
  // Returns (1 + a)^2 + a^2 - 1 for an optimism of a, averaged over the roles.
  double Noise() const;
};
QualitySetting QualitySettingOf(const RunConfig& config);

}  // namespace gandem
