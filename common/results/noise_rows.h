// SPDX-License-Identifier: Apache-2.0
//
// Gradient noise scales measured over all rounds of a run
// (control.noise_scale_every_rounds).
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
  int64_t rounds = 0;                    // measured rounds
  std::optional<NoiseScale> scale = {};  // none: too few rounds, or no noise
};

// Returns whether the measurement is usable: parts are smaller than the whole.
bool IsMeasured(const GradientNoise& noise);
GradientSquares SquaresOf(const GradientNoise& noise);

// Summarizes the rounds from `first_round` on (early rounds have larger
// gradients). Returns no row for a part without measurements.
std::vector<NoiseRow> NoiseRows(const RoundHistory& history,
                                int64_t first_round);

// Returns one line per row, for example "gradient noise scale of the generator
// on generated images: 310 (250 to 400) images, 40 rounds".
std::string NoiseText(const std::vector<NoiseRow>& rows);

}  // namespace gandem
