// SPDX-License-Identifier: Apache-2.0
#include "common/results/noise_rows.h"

#include <cmath>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/role_name.h"

namespace gandem {
namespace {

const char* ImagesOf(GradientNoise::Part part, Role role) {
  switch (part) {
    case GradientNoise::REAL:
      return " on real images";
    case GradientNoise::GENERATED:
      return " on generated images";
    case GradientNoise::ALL:
      return role == DISCRIMINATOR
                 ? ", between workers, of pairs of a real and a generated image"
                 : ", between workers";
    default:
      return "";
  }
}

std::string ImagesText(double images) {
  return std::isfinite(images) ? absl::StrFormat("%.3g", images)
                               : "any number of";
}

}  // namespace

bool IsMeasured(const GradientNoise& noise) {
  return noise.small_images() > 0 &&
         noise.large_images() > noise.small_images() &&
         std::isfinite(noise.large_images()) &&
         std::isfinite(noise.small_square()) &&
         std::isfinite(noise.large_square());
}

GradientSquares SquaresOf(const GradientNoise& noise) {
  return {.small_images = noise.small_images(),
          .large_images = noise.large_images(),
          .small_square = noise.small_square(),
          .large_square = noise.large_square()};
}

std::vector<NoiseRow> NoiseRows(const RoundHistory& history,
                                int64_t first_round) {
  // Groups the workers of a round.
  std::map<std::tuple<Role, GradientNoise::Part, int64_t>,
           std::vector<GradientSquares>>
      measured;
  for (const auto& [worker, rounds] : history.rounds()) {
    for (auto it = rounds.lower_bound(first_round); it != rounds.end(); ++it) {
      for (const GradientNoise& noise : it->second.noise) {
        if (!IsMeasured(noise)) continue;
        measured[{worker.role, noise.part(), it->first}].push_back(
            SquaresOf(noise));
      }
    }
  }
  std::map<std::pair<Role, GradientNoise::Part>, NoiseScaleEstimator> scales;
  std::map<std::pair<Role, GradientNoise::Part>, int64_t> counts;
  for (const auto& [key, workers] : measured) {
    const auto& [role, part, round] = key;
    scales[{role, part}].AddRound(workers);
    ++counts[{role, part}];
  }
  std::vector<NoiseRow> rows;
  for (const auto& [key, estimator] : scales) {
    rows.push_back({.role = key.first,
                    .part = key.second,
                    .rounds = counts.at(key),
                    .scale = estimator.Get()});
  }
  return rows;
}

std::string NoiseText(const std::vector<NoiseRow>& rows) {
  std::string text;
  for (const NoiseRow& row : rows) {
    absl::StrAppend(&text, "gradient noise scale of the ", RoleName(row.role),
                    ImagesOf(row.part, row.role), ": ");
    if (row.scale.has_value()) {
      absl::StrAppend(&text, ImagesText(row.scale->images), " images (",
                      ImagesText(row.scale->low), " to ",
                      ImagesText(row.scale->high), ")");
    } else {
      absl::StrAppend(&text, "not known yet");
    }
    absl::StrAppend(&text, ", ", row.rounds, " rounds\n");
  }
  return text;
}

}  // namespace gandem
