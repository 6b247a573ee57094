// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the file of a study (Trials of proto/plan.proto): which run comes
// next, and what the scores mean.
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
  int trial = 0;  // index of the trial
  uint64_t seed = 0;
  int64_t rounds = 0;
};

// Returns the next run, or nullopt at the end. All trials of a rung run with
// one seed, then with the next, so that finished runs can always be compared.
std::optional<TrialRun> NextRun(const Trials& trials);

void AddScore(const TrialRun& run, double distance, Trials& trials);

// Standings at the last rung where at least two trials share a seed. Candidates
// are indices of trials. `rounds` is 0 if there is no such rung.
struct TrialStandings {
  int64_t rounds = 0;
  std::vector<Standing> standings = {};
};
TrialStandings StandingsOf(const Trials& trials);

// Returns the index of the best trial: the recipe's own unless another is
// significantly better. The reference wins only if it is the recipe.
int WinnerOf(const Trials& trials);

// Returns a table with uncertainties, the verdict, and the winner's flags.
std::string TrialsText(const Trials& trials);

// Checks that the study found in a folder is the wanted one.
//   FAILED_PRECONDITION  the studies differ; names the difference
absl::Status CheckSameStudy(const Trials& found, const Trials& wanted);

// --- Trials: the recipe itself, a synchronous run as the reference, and other
// optimizer settings, the most promising first ---

// Returns `recipe` with the fields that a trial sets.
//   INVALID_ARGUMENT  the resulting config is invalid; names the trial
absl::StatusOr<RunConfig> ConfigOf(const Trial& trial, const RunConfig& recipe);

// Adds at most `count` distinct trials, including the recipe itself and the
// reference. Adds fewer if the recipe's optimizers have few settings to vary.
void AddTrials(const RunConfig& recipe, int count, Trials& trials);

}  // namespace gandem
