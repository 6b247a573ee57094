// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/halving.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "common/check.h"

namespace gandem {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Lower bound of the noise, because scores may agree by chance.
constexpr double kLeastNoise = 1e-3;

// 97.5 % quantiles of Student's distribution, by degrees of freedom from 1 on.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571,
                               2.447,  2.365, 2.306, 2.262, 2.228};

double StudentOf(int degrees) {
  if (degrees <= static_cast<int>(std::size(kStudent))) {
    return kStudent[degrees - 1];
  }
  return 1.96 + 2.72 / degrees;  // within 1 % for 11 and more
}

std::vector<uint64_t> CommonSeeds(std::span<const SeedScores> candidates) {
  std::vector<uint64_t> seeds;
  for (const auto& [seed, score] : candidates.front()) {
    if (std::ranges::all_of(candidates, [s = seed](const SeedScores& scores) {
          return scores.contains(s);
        })) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

// Returns log(score) by candidate and seed; infinity for a failure.
std::vector<std::vector<double>> LogScores(
    std::span<const SeedScores> candidates,
    const std::vector<uint64_t>& seeds) {
  std::vector<std::vector<double>> table;
  for (const SeedScores& scores : candidates) {
    std::vector<double>& row = table.emplace_back();
    for (const uint64_t seed : seeds) {
      const double score = scores.at(seed);
      row.push_back(score > 0 ? std::log(score) : kInfinite);
    }
  }
  return table;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

struct SeedNoise {
  double sd = kInfinite;
  int degrees = 0;
};

// Returns residuals of the model candidate + seed, over rows without failures.
SeedNoise NoiseOf(const std::vector<std::vector<double>>& table) {
  std::vector<std::vector<double>> rows;
  for (const auto& row : table) {
    if (std::isfinite(MeanOf(row))) rows.push_back(row);
  }
  if (rows.size() < 2 || rows.front().size() < 2) return {};
  const size_t seeds = rows.front().size();
  std::vector<double> seed_means(seeds, 0);
  for (const auto& row : rows) {
    for (size_t s = 0; s < seeds; ++s) {
      seed_means[s] += row[s] / static_cast<double>(rows.size());
    }
  }
  const double mean = MeanOf(seed_means);
  double squares = 0;
  for (const auto& row : rows) {
    const double own = MeanOf(row);
    for (size_t s = 0; s < seeds; ++s) {
      squares += std::pow(row[s] - own - seed_means[s] + mean, 2);
    }
  }
  const int degrees = static_cast<int>((rows.size() - 1) * (seeds - 1));
  return {.sd = std::max(kLeastNoise, std::sqrt(squares / degrees)),
          .degrees = degrees};
}

}  // namespace

std::vector<Standing> Compare(std::span<const SeedScores> candidates) {
  GANDEM_CHECK(!candidates.empty());
  const std::vector<uint64_t> seeds = CommonSeeds(candidates);
  GANDEM_CHECK(!seeds.empty());
  const auto table = LogScores(candidates, seeds);
  const SeedNoise noise = NoiseOf(table);
  std::vector<double> means;
  for (const auto& row : table) means.push_back(MeanOf(row));
  const double best = *std::ranges::min_element(means);
  const auto num_seeds = static_cast<double>(seeds.size());
  std::vector<Standing> standings;
  for (size_t i = 0; i < means.size(); ++i) {
    const bool failed = !std::isfinite(means[i]);
    Standing standing = {.candidate = static_cast<int>(i),
                         .seeds = static_cast<int>(seeds.size()),
                         .log_ratio = failed ? kInfinite : means[i] - best,
                         .sd = noise.sd * std::sqrt(2 / num_seeds)};
    standing.is_worse =
        failed || (noise.degrees > 0 &&
                   standing.log_ratio > StudentOf(noise.degrees) * standing.sd);
    standings.push_back(standing);
  }
  std::ranges::stable_sort(standings, {}, &Standing::log_ratio);
  return standings;
}

std::vector<int> Survivors(std::span<const Standing> standings) {
  std::vector<int> survivors;
  const size_t half = (standings.size() + 1) / 2;
  for (size_t i = 0; i < standings.size(); ++i) {
    const bool failed = !std::isfinite(standings[i].log_ratio);
    if (!failed && (i < half || !standings[i].is_worse)) {
      survivors.push_back(standings[i].candidate);
    }
  }
  std::ranges::sort(survivors);
  return survivors;
}

int Winner(std::span<const Standing> standings, int given) {
  const auto own = std::ranges::find(standings, given, &Standing::candidate);
  return own != standings.end() && !own->is_worse ? given
                                                  : standings.front().candidate;
}

std::vector<int64_t> RungRounds(int64_t rounds, int rungs) {
  std::vector<int64_t> result = {rounds};
  while (static_cast<int>(result.size()) < rungs && result.back() >= 2) {
    result.push_back(result.back() / 2);
  }
  std::ranges::reverse(result);
  return result;
}

}  // namespace gandem
