// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/trials_command.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/text_proto.h"
#include "common/monotonic_time.h"
#include "common/process/binary_folder.h"
#include "common/process/child_process.h"
#include "common/process/exit_code.h"
#include "common/status.h"
#include "scaling_manager/planner/trials/halving.h"
#include "scaling_manager/planner/trials/trials.h"

namespace gandem {
namespace {

constexpr absl::Duration kTrialPoll = absl::Milliseconds(100);
constexpr int kTrialRungs = 3;
constexpr int kTrialTailLines = 10;
constexpr double kMostHours = 24 * 365;

std::vector<std::string> EvaluateArguments(const TrialsOptions& options) {
  if (!options.evaluate_arguments.empty()) return options.evaluate_arguments;
  return {"--num", "2000"};
}

// Returns the fields that every run sets, besides those of its trial.
std::vector<std::string> RunSets(const RunConfig& config, const TrialRun& run) {
  std::vector<std::string> sets = {
      absl::StrCat("seed=", run.seed), absl::StrCat("rounds=", run.rounds),
      "samples.every_rounds=0",        "checkpoint.keep_last=1",
      "generator.workers=1",           "discriminator.workers=1"};
  // Learning rates must decay as in the whole run, not within a short run.
  const auto fix = [&](const std::string& role, const RoleConfig& role_config) {
    const RateScheduleConfig& schedule =
        role_config.optimizer().rate_schedule();
    if (schedule.shape() == RateScheduleConfig::CONSTANT) return;
    sets.push_back(absl::StrCat(
        role, ".optimizer.rate_schedule.decay_until_round=",
        schedule.decay_until_round() == 0 ? config.rounds()
                                          : schedule.decay_until_round()));
  };
  fix("generator", config.generator());
  fix("discriminator", config.discriminator());
  return sets;
}

class TrialsCommand {
 public:
  TrialsCommand(const TrialsOptions& options, Trials trials,
                std::string binaries, FILE* out)
      : options_(options),
        trials_(std::move(trials)),
        binaries_(std::move(binaries)),
        out_(out) {}

  absl::Status Run();

 private:
  // Runs Score() and counts its time, even if Score() fails.
  absl::StatusOr<double> Timed(const TrialRun& run);
  absl::StatusOr<double> Score(const TrialRun& run, absl::Time deadline);
  // Returns how the child process ended, and the last lines of its log.
  absl::StatusOr<std::pair<ProcessEnd, std::string>> RunChild(
      std::vector<std::string> arguments, const std::string& log,
      absl::Time deadline) const;
  absl::Status Save() const;
  void Say(const std::string& text) const {
    absl::FPrintF(out_, "%s", text);
    std::fflush(out_);
  }
  absl::Duration left() const {
    return absl::Hours(options_.hours) - absl::Seconds(trials_.spent_seconds());
  }

  const TrialsOptions options_;
  Trials trials_;
  const std::string binaries_;
  FILE* const out_;
};

absl::Status TrialsCommand::Save() const {
  std::string text;
  GANDEM_CHECK(google::protobuf::TextFormat::PrintToString(trials_, &text));
  return WriteFileDurably(options_.output + "/trials.textproto", text);
}

absl::StatusOr<std::pair<ProcessEnd, std::string>> TrialsCommand::RunChild(
    std::vector<std::string> arguments, const std::string& log,
    absl::Time deadline) const {
  absl::StatusOr<ChildProcess> child =
      ChildProcess::Start({.arguments = std::move(arguments), .log_path = log});
  GANDEM_RETURN_IF_ERROR(child);
  while (true) {
    const std::optional<ProcessEnd> end = child->Poll();
    if (end.has_value()) {
      return std::pair(*end, child->LogTail(kTrialTailLines));
    }
    // The child's destructor kills the child. The next call resumes the run.
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError("the time of the trials is over");
    }
    absl::SleepFor(kTrialPoll);
  }
}

absl::StatusOr<double> TrialsCommand::Score(const TrialRun& run,
                                            absl::Time deadline) {
  const Trial& trial = trials_.trials(run.trial);
  const std::string folder =
      absl::StrCat(options_.output, "/runs/", run.trial, "-seed-", run.seed);
  const std::string log = folder + ".log";
  std::vector<std::string> train = {
      binaries_ + "/gandem", "train", options_.recipe,
      "--run_dir",           folder,  "--colocated"};
  const auto add_sets = [&train](const auto& sets) {
    for (const std::string& set : sets) {
      train.push_back("--set");
      train.push_back(set);
    }
  };
  add_sets(options_.sets);
  add_sets(trial.sets());
  add_sets(RunSets(trials_.recipe(), run));
  GANDEM_ASSIGN_OR_RETURN(const auto trained,
                          RunChild(std::move(train), log, deadline));
  if (trained.first.exit_code == kExitDiverged) {
    return std::numeric_limits<double>::infinity();
  }
  const auto failed = [&](const char* what, const auto& child) {
    return absl::InternalError(absl::StrCat(
        what, " of trial '", trial.name(), "', seed ", run.seed, ", ",
        child.first.description, "; its log is ", log, " and ends with\n",
        child.second, "Run the same command to try again"));
  };
  if (trained.first.exit_code != kExitOk) {
    return failed("the run", trained);
  }
  std::vector<std::string> evaluate = {binaries_ + "/gandem", "evaluate",
                                       folder, "--metric", "fid"};
  evaluate.insert(evaluate.end(), trials_.evaluate_arguments().begin(),
                  trials_.evaluate_arguments().end());
  GANDEM_ASSIGN_OR_RETURN(const auto judged,
                          RunChild(std::move(evaluate), log, deadline));
  if (judged.first.exit_code != kExitOk) {
    return failed("the evaluation", judged);
  }
  GANDEM_ASSIGN_OR_RETURN(const MetricCard card,
                          ReadMetricCard(CardPathOf(judged.second)));
  if (card.metrics().empty()) {
    return absl::DataLossError(absl::StrCat(log, ": the metric card is empty"));
  }
  return card.metrics(0).value();
}

absl::StatusOr<double> TrialsCommand::Timed(const TrialRun& run) {
  const absl::Time start = MonotonicNow();
  absl::StatusOr<double> score = Score(run, start + left());
  trials_.set_spent_seconds(trials_.spent_seconds() +
                            absl::ToDoubleSeconds(MonotonicNow() - start));
  return score;
}

absl::Status TrialsCommand::Run() {
  while (const std::optional<TrialRun> run = NextRun(trials_)) {
    const absl::StatusOr<double> score =
        left() > absl::ZeroDuration()
            ? Timed(*run)
            : absl::DeadlineExceededError("the time of the trials is over");
    if (absl::IsDeadlineExceeded(score.status())) {
      GANDEM_RETURN_IF_ERROR(Save());
      Say(absl::StrCat(
          TrialsText(trials_), "the ", options_.hours,
          " hours are over and the study is not complete: raise --trial_hours "
          "to continue\n"));
      return absl::OkStatus();
    }
    if (!score.ok()) {
      GANDEM_RETURN_IF_ERROR(Save());
      return score.status();
    }
    AddScore(*run, *score, trials_);
    GANDEM_RETURN_IF_ERROR(Save());
    Say(absl::StrFormat("%s, seed %d, %d rounds: %.4g\n",
                        trials_.trials(run->trial).name(), run->seed,
                        run->rounds, *score));
  }
  Say(TrialsText(trials_));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Trials> StudyOf(const TrialsOptions& options) {
  Faults faults("arguments");
  faults.CheckRange("--trials", options.trials, 2, 100);
  faults.CheckRange("--seeds", options.seeds, 2, 100);
  faults.CheckRange("--rounds", options.rounds, int64_t{0},
                    int64_t{1'000'000'000});
  faults.CheckPositive("--trial_hours", options.hours, kMostHours);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  Trials trials;
  GANDEM_ASSIGN_OR_RETURN(*trials.mutable_recipe(),
                          LoadRunConfig(options.recipe, options.sets));
  const RunConfig& recipe = trials.recipe();
  AddTrials(recipe, options.trials, trials);
  const int64_t rounds = options.rounds > 0
                             ? options.rounds
                             : std::max<int64_t>(1, recipe.rounds() / 10);
  for (const int64_t rung : RungRounds(rounds, kTrialRungs)) {
    trials.add_rungs(rung);
  }
  for (int i = 0; i < options.seeds; ++i) trials.add_seeds(recipe.seed() + i);
  for (std::string& argument : EvaluateArguments(options)) {
    trials.add_evaluate_arguments(std::move(argument));
  }
  return trials;
}

absl::Status RunTrials(const TrialsOptions& options, FILE* out) {
  GANDEM_ASSIGN_OR_RETURN(Trials trials, StudyOf(options));
  const std::string path = options.output + "/trials.textproto";
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.output + "/runs"));
  if (PathExists(path)) {
    GANDEM_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(path, kMaxTextProtoBytes));
    Trials found;
    GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, found));
    GANDEM_RETURN_IF_ERROR(
        Annotate(CheckSameStudy(found, trials), options.output));
    trials = std::move(found);
  }
  GANDEM_ASSIGN_OR_RETURN(std::string binaries, BinaryFolder());
  return TrialsCommand(options, std::move(trials), std::move(binaries), out)
      .Run();
}

}  // namespace gandem
