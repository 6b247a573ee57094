// SPDX-License-Identifier: Apache-2.0
//
// A study of trials as arithmetic on its file (Trials of proto/plan.proto):
// which run comes next, and what the scores say.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "proto/plan.pb.h"
#include "scaling_manager/planner/trials/halving.h"

namespace gandem {

struct TrialRun {
  int trial = 0;  // its index
  uint64_t seed = 0;
  int64_t rounds = 0;
};

// Goes on from where the scores end: all trials of a rung with one seed after
// the other, so that what was done can be compared at any time. None: the study
// is complete.
std::optional<TrialRun> NextRun(const Trials& trials);

void AddScore(const TrialRun& run, double distance, Trials& trials);

// Of the last rung at which at least two trials have a seed in common;
// candidates are indices of trials. `rounds` 0: none has.
struct TrialStandings {
  int64_t rounds = 0;
  std::vector<Standing> standings = {};
};
TrialStandings StandingsOf(const Trials& trials);

// The index of the trial to take; the recipe's own where nothing is known to be
// better. The reference is chosen only where it is the recipe.
int WinnerOf(const Trials& trials);

// A table with uncertainties, the verdict, and the flags that take the winner.
std::string TrialsText(const Trials& trials);

//   FAILED_PRECONDITION  `found`, a folder's file, is of another study than
//                        `wanted`; names what differs.
absl::Status CheckSameStudy(const Trials& found, const Trials& wanted);

// --- What is tried: the recipe as it is, a synchronous run to compare with,
// and optimizers beside it, the most promising first ---

// `recipe` with what a trial sets.
//   INVALID_ARGUMENT  the result is no valid config; names the trial.
absl::StatusOr<RunConfig> ConfigOf(const Trial& trial, const RunConfig& recipe);

// Adds at most `count` trials to `trials`, the recipe itself and the reference
// included, none that is the same run as another. Fewer where the recipe's
// optimizers have no more to change.
void AddTrials(const RunConfig& recipe, int count, Trials& trials);

}  // namespace gandem
