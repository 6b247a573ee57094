// SPDX-License-Identifier: Apache-2.0
//
// Successive halving (Jamieson and Talwalkar 2016, algorithm 1) with several
// seeds. At each rung, all remaining candidates have run for the same number of
// rounds with the same seeds. The better half continues, and so does every
// candidate whose difference from the best is within the noise of the seeds.
// Candidates are compared by differences of log(score) with the same seed,
// because a seed that learns faster does so in all candidates
// (docs/quality.md). The noise is the residual of the scores after subtracting
// the means of candidates and of seeds.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gandem {

// Distances of a candidate by seed, > 0; infinity for a failed run.
using SeedScores = std::map<uint64_t, double>;

struct Standing {
  int candidate = 0;      // index of the candidate
  int seeds = 0;          // number shared with the best
  double log_ratio = 0;   // mean of log(score / the best score)
  double sd = 0;          // of log_ratio; infinity with one seed: unknown
  bool is_worse = false;  // than the best, with 97.5 % confidence, or failed
};

// Compares candidates by their common seeds. Returns the best first.
std::vector<Standing> Compare(std::span<const SeedScores> candidates);

// Returns the indices, ascending, of the better half, rounded up, and of
// candidates that are not significantly worse than the best.
std::vector<int> Survivors(std::span<const Standing> standings);

// Returns the best candidate if it is significantly better than `given`.
int Winner(std::span<const Standing> standings, int given);

// Returns the rounds of each rung, ascending up to `rounds`, each twice the
// previous: at least one, fewer than `rungs` if `rounds` is small.
std::vector<int64_t> RungRounds(int64_t rounds, int rungs);

}  // namespace gandem
