// SPDX-License-Identifier: Apache-2.0
//
// The gradient noise scales that a run has measured
// (control.noise_scale_every_rounds), over all its rounds.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/results/noise_scale.h"
#include "common/results/round_history.h"
#include "proto/metrics.pb.h"

namespace gandem {

struct NoiseRow {
  Role role = ROLE_UNKNOWN;
  GradientNoise::Part part = GradientNoise::UNKNOWN;
  int64_t rounds = 0;                    // measured
  std::optional<NoiseScale> scale = {};  // none: too few rounds, or no noise
};

// Whether the measurement is usable: parts are smaller than the whole.
bool IsMeasured(const GradientNoise& noise);
GradientSquares SquaresOf(const GradientNoise& noise);

// Rounds from `first_round` on: early ones have larger gradients. None where
// nothing was measured.
std::vector<NoiseRow> NoiseRows(const RoundHistory& history,
                                int64_t first_round);

// "gradient noise scale of the generator on generated images: 310 (250 to 400)
// images, 40 rounds": a line each.
std::string NoiseText(const std::vector<NoiseRow>& rows);

}  // namespace gandem
