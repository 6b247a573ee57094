// SPDX-License-Identifier: Apache-2.0
//
// Images that a config needs to reach a quality, against the best synchronous
// run of the same networks: what speed is divided by (docs/quality.md, "What
// the planner makes of it").
//
// A model of few measurements: the square of the lag that optimism leaves and
// the noise of optimism, fitted by benchmarks/quality_fit.py to the study of
// docs/quality.md; settings that were measured there lean on that; batches by
// the gradient noise scale (noise_scale.h). What was not measured widens the
// interval, and `why` names it.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Of a config, from trials: over seeds that the synchronous run had, too.
struct MeasuredQuality {
  RunConfig config;
  double log_factor = 0;  // the mean over the seeds
  double sd = 0;          // of that mean: above 0
};

// What is known besides the study.
struct QualityEvidence {
  // Of the smallest part of each role's gradient; none: not measured.
  std::optional<NoiseScale> generator_noise = {};
  std::optional<NoiseScale> discriminator_noise = {};
  std::vector<MeasuredQuality> trials = {};
};

// The batches that the learning rates were found at are the base_batch_size of
// the optimizers (RememberBatches of optimizer_rules.h): the best synchronous
// run has these.
ImagesNeeded PredictImagesNeeded(const RunConfig& config);
ImagesNeeded PredictImagesNeeded(const RunConfig& config,
                                 const QualityEvidence& evidence);

// What the model sees of a config.
struct QualitySetting {
  double lag = 0;
  double steps = 1;  // R
  double generator_optimism = 0;
  double discriminator_optimism = 0;
  double generator_momentum = 0;  // beta1, or momentum
  double discriminator_momentum = 0;
  bool operator==(const QualitySetting&) const = default;

  // The lag that optimism leaves, that of momentum included; at least 0.
  double Excess() const;
  // (1 + a)^2 + a^2 - 1, the mean over the roles.
  double Noise() const;
};
QualitySetting QualitySettingOf(const RunConfig& config);

}  // namespace gandem
