// SPDX-License-Identifier: Apache-2.0
//
// Successive halving (Jamieson and Talwalkar 2016, algorithm 1) that knows of
// seeds: at each rung all candidates that are left have run for as many rounds
// with the same seeds; the better half goes on, and with it everything that the
// seeds' noise cannot tell from the best. A difference inside that noise
// decides nothing.
//
// Candidates are compared by the differences of their logarithms of scores with
// the same seed: one seed learns faster than another in all candidates alike
// (docs/quality.md). The noise is what is left of the scores without the means
// of candidates and of seeds.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gandem {

// Of one candidate at a rung: a distance, smaller is better, above 0; infinity:
// the run failed.
using SeedScores = std::map<uint64_t, double>;

struct Standing {
  int candidate = 0;      // its index
  int seeds = 0;          // that it has in common with the best
  double log_ratio = 0;   // mean of log(score / the best one's)
  double sd = 0;          // of that mean; infinity: not known (one seed)
  bool is_worse = false;  // than the best, with 97.5 % confidence, or failed
};

// From the best on. All candidates have the same seeds; those that one lacks
// are left out for all.
std::vector<Standing> Compare(std::span<const SeedScores> candidates);

// Indices, ascending: the better half, rounded up, and those not worse than the
// best.
std::vector<int> Survivors(std::span<const Standing> standings);

// The one to take: the best, or `given` (the user's own setting) where the best
// is not known to be better than it.
int Winner(std::span<const Standing> standings, int given);

// Rounds of each rung, ascending up to `rounds`: each twice the one before. At
// least one; fewer than `rungs` where rounds are few.
std::vector<int64_t> RungRounds(int64_t rounds, int rungs);

}  // namespace gandem
