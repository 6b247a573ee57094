// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/trials/trials.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/config/optimizer_validate.h"
#include "common/config/run_config.h"
#include "common/files/text_proto.h"
#include "common/status.h"

namespace gandem {
namespace {

// Most characters of a difference between two studies in a message (chosen).
constexpr size_t kMostDifference = 200;

SeedScores ScoresAt(const Trial& trial, int64_t rounds) {
  SeedScores scores;
  for (const TrialScore& score : trial.scores()) {
    if (score.rounds() == rounds) scores[score.seed()] = score.distance();
  }
  return scores;
}

// Compares the trials with these indices, which share a seed.
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

// Returns whether a trial may win: not the reference, unless it is the recipe.
bool MayBeChosen(const Trial& trial) {
  return !trial.is_reference() || trial.sets().empty();
}

// Returns the trials that continue after a complete rung, always including the
// recipe and the reference unless they failed: the winner must beat the recipe.
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
  Trials study = found;
  study.clear_spent_seconds();
  for (Trial& trial : *study.mutable_trials()) trial.clear_scores();
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(study, wanted)) return absl::OkStatus();
  // The text has one line per difference. A whole recipe makes a long line.
  const std::string first = differences.substr(
      0, std::min<size_t>(differences.find('\n'), kMostDifference));
  return absl::FailedPreconditionError(absl::StrCat(
      "the folder has another study (", first,
      "): give another folder by -o, or the same arguments as before"));
}

// --- The trials ---

namespace {

using Sets = std::vector<std::string>;

// Numeric options of a role's optimizer, of any family.
class RoleNumbers {
 public:
  RoleNumbers(std::string role, const OptimizerConfig& optimizer)
      : role_(std::move(role)) {
    const auto& reflection = *optimizer.GetReflection();
    const auto* const family = FamilyFieldOf(optimizer);
    family_ = family == nullptr ? "adam" : family->name();
    message_ =
        family == nullptr
            ? static_cast<const google::protobuf::Message*>(&optimizer.adam())
            : &reflection.GetMessage(optimizer, family);
  }

  // Returns {} if the family has no such number. AdaBelief's beta1 must be
  // above 0, and Lion's beta1 has another meaning.
  Sets Set(const std::string& number, double value) const {
    const bool is_other =
        number == "beta1" && (family_ == "adabelief" || family_ == "lion");
    if (is_other || FieldOf(number) == nullptr) return {};
    return {
        absl::StrCat(role_, ".optimizer.", family_, ".", number, "=", value)};
  }
  Sets TimesRate(double factor) const {
    const auto* const field = FieldOf("learning_rate");
    return Set("learning_rate",
               factor * message_->GetReflection()->GetDouble(*message_, field));
  }
  Sets Optimism(const std::string& rule, double number = 0) const {
    return {absl::StrCat(role_, ".optimizer.optimism_rule=", rule),
            absl::StrCat(role_, ".optimizer.optimism=", number)};
  }

 private:
  const google::protobuf::FieldDescriptor* FieldOf(
      const std::string& number) const {
    return message_->GetDescriptor()->FindFieldByName(number);
  }

  std::string role_;
  std::string family_;
  const google::protobuf::Message* message_;
};

Sets Joined(std::initializer_list<Sets> parts) {
  Sets all;
  for (const Sets& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

Trial TrialOf(std::string name, Sets sets) {
  Trial trial;
  trial.set_name(std::move(name));
  for (std::string& set : sets) trial.add_sets(std::move(set));
  return trial;
}

Trial Synchronous(const RunConfig& recipe, const RoleNumbers& generator,
                  const RoleNumbers& discriminator) {
  Sets sets = Joined({{"schedule.lag=0"},
                      generator.Optimism("FIXED"),
                      discriminator.Optimism("FIXED"),
                      generator.Set("beta1", 0),
                      discriminator.Set("beta1", 0)});
  if (recipe.schedule().feedback() == ScheduleConfig::FUSED) {
    sets.push_back("schedule.feedback=IMAGE_GRADIENT");
    sets.push_back("schedule.fused_backward=AUTO");
  }
  if (recipe.schedule().consistency() == ScheduleConfig::BOUNDED) {
    sets.push_back("schedule.consistency=EXACT");
    sets.push_back("schedule.max_samples_per_image=1");
  }
  Trial trial = TrialOf("synchronous", std::move(sets));
  trial.set_is_reference(true);
  return trial;
}

std::vector<Trial> TrialList(const RunConfig& recipe) {
  const RoleNumbers g("generator", recipe.generator().optimizer());
  const RoleNumbers d("discriminator", recipe.discriminator().optimizer());
  const bool has_lag = recipe.schedule().lag() > 0;
  std::vector<Trial> list = {TrialOf("recipe", {}), Synchronous(recipe, g, d)};
  const Sets rule =
      has_lag ? Joined({g.Optimism("LAG_MATCHED"), d.Optimism("LAG_MATCHED")})
              : Sets();
  const auto with_beta1 = [&](double beta1) {
    return Joined({rule, g.Set("beta1", beta1), d.Set("beta1", beta1)});
  };
  const Sets matched = with_beta1(0);
  const std::string name = has_lag ? "lag-matched" : "beta1 0";
  const auto add = [&](const std::string& more, const Sets& sets) {
    list.push_back(TrialOf(more.empty() ? name : absl::StrCat(name, ", ", more),
                           Joined({matched, sets})));
  };
  add("", {});
  add("discriminator rate x 2", d.TimesRate(2));
  add("generator rate / 2", g.TimesRate(0.5));
  list.push_back(TrialOf(has_lag ? "lag-matched, beta1 0.5" : "beta1 0.5",
                         with_beta1(0.5)));
  add("both rates / 2", Joined({g.TimesRate(0.5), d.TimesRate(0.5)}));
  if (has_lag) {
    list.push_back(TrialOf("matched by the generator",
                           Joined({matched, d.Optimism("FIXED")})));
    list.push_back(TrialOf("matched by the discriminator",
                           Joined({matched, g.Optimism("FIXED")})));
  }
  add("beta2 0.9", Joined({g.Set("beta2", 0.9), d.Set("beta2", 0.9)}));
  add("generator rate x 2", g.TimesRate(2));
  add("discriminator rate / 2", d.TimesRate(0.5));
  add("beta2 0.99", Joined({g.Set("beta2", 0.99), d.Set("beta2", 0.99)}));
  add("both rates x 2", Joined({g.TimesRate(2), d.TimesRate(2)}));
  return list;
}

}  // namespace

absl::StatusOr<RunConfig> ConfigOf(const Trial& trial,
                                   const RunConfig& recipe) {
  RunConfig config = recipe;
  for (const std::string& set : trial.sets()) {
    GANDEM_RETURN_IF_ERROR(
        Annotate(SetField(set, config), absl::StrCat("trial ", trial.name())));
  }
  GANDEM_RETURN_IF_ERROR(Annotate(ValidateRunConfig(config),
                                  absl::StrCat("trial ", trial.name())));
  return config;
}

void AddTrials(const RunConfig& recipe, int count, Trials& trials) {
  std::set<std::string> seen;
  for (Trial& trial : TrialList(recipe)) {
    if (trials.trials_size() >= count) return;
    const auto config = ConfigOf(trial, recipe);
    // A trial may be invalid, for example because its rate is out of range.
    if (!config.ok()) continue;
    if (!seen.insert(EffectiveConfigText(*config)).second) {
      // The recipe, which is the first trial, is synchronous itself.
      if (trial.is_reference()) {
        trials.mutable_trials(0)->set_is_reference(true);
      }
      continue;
    }
    *trials.add_trials() = std::move(trial);
  }
}

}  // namespace gandem
