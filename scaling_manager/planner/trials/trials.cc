// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/trials.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/run_config.h"
#include "scaling_manager/planner/trials/trial_candidates.h"

namespace gandem {
namespace {

SeedScores ScoresAt(const Trial& trial, int64_t rounds) {
  SeedScores scores;
  for (const TrialScore& score : trial.scores()) {
    if (score.rounds() == rounds) scores[score.seed()] = score.distance();
  }
  return scores;
}

// Of the trials with these indices, which all have a seed in common.
std::vector<Standing> CompareAt(const Trials& trials,
                                const std::vector<int>& indices,
                                int64_t rounds) {
  std::vector<SeedScores> scores;
  for (const int index : indices) {
    scores.push_back(ScoresAt(trials.trials(index), rounds));
  }
  std::vector<Standing> standings = Compare(scores);
  for (Standing& standing : standings) {
    standing.candidate = indices[standing.candidate];
  }
  return standings;
}

std::vector<int> AllTrials(const Trials& trials) {
  std::vector<int> all(trials.trials_size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The reference is another schedule, unless it is the recipe itself.
bool MayBeChosen(const Trial& trial) {
  return !trial.is_reference() || trial.sets().empty();
}

// Who goes on after a rung that is complete: of those that may be chosen, which
// the recipe is among. The reference always does, and the recipe: what is found
// has to be better than these.
std::vector<int> Promoted(const Trials& trials, const std::vector<int>& indices,
                          int64_t rounds) {
  std::vector<int> choice = indices;
  std::erase_if(choice,
                [&](int index) { return !MayBeChosen(trials.trials(index)); });
  std::vector<int> left = Survivors(CompareAt(trials, choice, rounds));
  for (const int index : indices) {
    const Trial& trial = trials.trials(index);
    const bool stays = trial.is_reference() || trial.sets().empty();
    const SeedScores scores = ScoresAt(trial, rounds);
    const bool failed = std::ranges::any_of(
        scores, [](const auto& score) { return !std::isfinite(score.second); });
    if (stays && !failed && std::ranges::count(left, index) == 0) {
      left.push_back(index);
    }
  }
  std::ranges::sort(left);
  return left;
}

std::string StandingLine(const Standing& standing, const Trials& trials) {
  const std::string name = trials.trials(standing.candidate).name();
  if (!std::isfinite(standing.log_ratio)) {
    return absl::StrFormat("  %-40s failed\n", name);
  }
  const std::string spread =
      std::isfinite(standing.sd)
          ? absl::StrFormat("+- %.1f%%", 100 * (std::exp(standing.sd) - 1))
          : "+- ?";
  return absl::StrFormat("  %-40s %+6.1f%% %9s  %s\n", name,
                         100 * (std::exp(standing.log_ratio) - 1), spread,
                         standing.log_ratio == 0 ? "smallest distance"
                         : standing.is_worse     ? "worse"
                                                 : "inside the seeds' noise");
}

}  // namespace

std::optional<TrialRun> NextRun(const Trials& trials) {
  std::vector<int> left = AllTrials(trials);
  for (const int64_t rounds : trials.rungs()) {
    for (const uint64_t seed : trials.seeds()) {
      for (const int index : left) {
        if (!ScoresAt(trials.trials(index), rounds).contains(seed)) {
          return TrialRun{.trial = index, .seed = seed, .rounds = rounds};
        }
      }
    }
    left = Promoted(trials, left, rounds);
    if (left.size() < 2) return std::nullopt;
  }
  return std::nullopt;
}

void AddScore(const TrialRun& run, double distance, Trials& trials) {
  TrialScore& score = *trials.mutable_trials(run.trial)->add_scores();
  score.set_rounds(run.rounds);
  score.set_seed(run.seed);
  score.set_distance(distance);
}

TrialStandings StandingsOf(const Trials& trials) {
  for (auto rung = trials.rungs().rbegin(); rung != trials.rungs().rend();
       ++rung) {
    for (auto seed = trials.seeds().begin(); seed != trials.seeds().end();
         ++seed) {
      std::vector<int> with_seed;
      for (const int index : AllTrials(trials)) {
        if (ScoresAt(trials.trials(index), *rung).contains(*seed)) {
          with_seed.push_back(index);
        }
      }
      if (with_seed.size() < 2) continue;
      return {.rounds = *rung,
              .standings = CompareAt(trials, with_seed, *rung)};
    }
  }
  return {};
}

int WinnerOf(const Trials& trials) {
  int recipe = 0;
  for (const int index : AllTrials(trials)) {
    if (trials.trials(index).sets().empty()) recipe = index;
  }
  const TrialStandings all = StandingsOf(trials);
  std::vector<int> choice;
  for (const Standing& standing : all.standings) {
    if (MayBeChosen(trials.trials(standing.candidate))) {
      choice.push_back(standing.candidate);
    }
  }
  if (choice.size() < 2) return recipe;
  return Winner(CompareAt(trials, choice, all.rounds), recipe);
}

std::string TrialsText(const Trials& trials) {
  const TrialStandings all = StandingsOf(trials);
  if (all.rounds == 0) return "no two trials can be compared yet\n";
  std::string text = absl::StrCat(
      "after ", all.rounds, " rounds, ", all.standings.front().seeds, " of ",
      trials.seeds_size(),
      " seeds; distances against the smallest, with the standard deviation of "
      "the difference:\n");
  for (const Standing& standing : all.standings) {
    text += StandingLine(standing, trials);
  }
  const Trial& winner = trials.trials(WinnerOf(trials));
  if (winner.sets().empty()) {
    return text + "nothing is known to be better than the recipe\n";
  }
  absl::StrAppend(&text, winner.name(), " is better than the recipe:\n ");
  for (const std::string& set : winner.sets()) {
    absl::StrAppend(&text, " --set ", set);
  }
  return text + "\n";
}

absl::Status CheckSameStudy(const Trials& found, const Trials& wanted) {
  std::vector<std::string> others;
  const auto same = [](const auto& a, const auto& b) {
    return std::ranges::equal(a, b);
  };
  if (ConfigHash(found.recipe()) != ConfigHash(wanted.recipe())) {
    others.push_back("recipe");
  }
  if (!std::ranges::equal(found.trials(), wanted.trials(),
                          [&](const Trial& a, const Trial& b) {
                            return same(a.sets(), b.sets());
                          })) {
    others.push_back("trials");
  }
  if (!same(found.rungs(), wanted.rungs())) others.push_back("rounds");
  if (!same(found.seeds(), wanted.seeds())) others.push_back("seeds");
  if (!same(found.evaluate_arguments(), wanted.evaluate_arguments())) {
    others.push_back("arguments of evaluate");
  }
  if (others.empty()) return absl::OkStatus();
  std::string text = "the folder has another study, with other ";
  for (size_t i = 0; i < others.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", others[i]);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      text, ": give another folder by -o, or the same arguments as before"));
}

}  // namespace gandem
