// SPDX-License-Identifier: Apache-2.0
//
// Images that a config needs to reach a quality, against the best synchronous
// run of the same networks: what speed is divided by (docs/quality.md, "What
// the planner makes of it").
//
// A law of the lag, fitted by benchmarks/quality_fit.py to the study of
// docs/quality.md: the square of the lag that optimism leaves, and the noise of
// optimism. Batches count by the gradient noise scale (noise_scale.h).
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>

#include "common/results/noise_scale.h"
#include "proto/config.pb.h"

namespace gandem {

// With 95 % confidence between low and high.
struct ImagesNeeded {
  double factor = 1;
  double low = 1;
  double high = 1;
  std::string why;  // a sentence or a few
};

// The smallest scale among the parts of each role's gradient; none: not
// measured.
struct NoiseScales {
  std::optional<NoiseScale> generator = {};
  std::optional<NoiseScale> discriminator = {};
};

// The batches that the learning rates were found at are the base_batch_size of
// the optimizers (RememberBatches of optimizer_rules.h): the best synchronous
// run has these.
ImagesNeeded PredictImagesNeeded(const RunConfig& config,
                                 const NoiseScales& noise = {});

// What the model sees of a config.
struct QualitySetting {
  double lag = 0;
  double steps = 1;  // R
  double generator_optimism = 0;
  double discriminator_optimism = 0;
  double generator_momentum = 0;  // beta1, or momentum
  double discriminator_momentum = 0;

  // The lag that optimism leaves, that of momentum included; at least 0.
  double Excess() const;
  // (1 + a)^2 + a^2 - 1, the mean over the roles.
  double Noise() const;
};
QualitySetting QualitySettingOf(const RunConfig& config);

}  // namespace gandem
