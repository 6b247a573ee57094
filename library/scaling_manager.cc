// SPDX-License-Identifier: Apache-2.0
#include "gandem/scaling_manager.h"

#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/checkpoint/checkpoint_files.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/metric_card.h"
#include "common/files/text_proto.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/results/round_history.h"
#include "common/results/time_report.h"
#include "common/status.h"
#include "library/program_run.h"

namespace gandem {
namespace {

constexpr double kOf95Percent = 1.96;

[[noreturn]] void Throw(const absl::Status& status) {
  throw Error(std::string(status.message()));
}

void ThrowIfError(const absl::Status& status) {
  if (!status.ok()) Throw(status);
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  ThrowIfError(value.status());
  return *std::move(value);
}

// Parses the recipe as far as possible; `gandem train` reports its faults.
RunConfig ReadRecipe(const Recipe& recipe) {
  RunConfig config;
  ThrowIfError(ParseTextProto(recipe.text(), recipe.name(), config));
  for (const std::string& set : recipe.sets()) {
    ThrowIfError(SetField(set, config));
  }
  return config;
}

// Settings for the batch size and the number of workers of a manager.
std::vector<std::string> SetsOf(const RunConfig& config, int64_t batch_size,
                                int num_workers) {
  const ScheduleConfig& schedule = config.schedule();
  const bool reuses = schedule.image_source() == ScheduleConfig::REUSED;
  const int64_t generator_batch =
      reuses ? batch_size * schedule.discriminator_steps_per_round()
             : batch_size;
  const int generators = num_workers == 1 ? 1 : num_workers / 2;
  const int discriminators = num_workers == 1 ? 1 : num_workers - generators;
  return {absl::StrCat("generator.batch_size=", generator_batch),
          absl::StrCat("discriminator.batch_size=", batch_size),
          absl::StrCat("generator.workers=", generators),
          absl::StrCat("discriminator.workers=", discriminators)};
}

// Returns the folder with `gandem`, or throws an error that explains the
// search.
std::string FindPrograms(const std::string& given) {
  const char* const told = std::getenv(kBinaryFolderVariable);
  const bool is_told = told != nullptr && *told != '\0';
  const std::string folder =
      is_told || given.empty() ? ValueOrThrow(BinaryFolder()) : given;
  if (IsProgram(folder + "/gandem")) return folder;
  throw Error(absl::StrCat(
      "there is no program '", folder, "/gandem': install gandem (`cmake ",
      "--install build --prefix PREFIX`) and set ", kBinaryFolderVariable,
      "=PREFIX/bin, or build with find_package(gandem)"));
}

std::vector<std::string> EnvironmentOf(const std::string& programs,
                                       const std::string& worker) {
  std::vector<std::string> environment = {
      absl::StrCat(kBinaryFolderVariable, "=", programs)};
  if (!worker.empty()) {
    environment.push_back(absl::StrCat(kOwnWorkerVariable, "=", worker));
  }
  return environment;
}

// `what`: "training" or "evaluation".
[[noreturn]] void ThrowFailure(const std::string& what,
                               const ProgramOutcome& outcome,
                               const std::string& log) {
  throw Error(absl::StrCat(what, " ended with exit code ", outcome.exit_code,
                           " (", log, "):\n", outcome.said));
}

absl::Duration AtMost(std::chrono::seconds limit) {
  if (limit.count() <= 0) {
    throw Error(absl::StrCat("a limit of ", limit.count(),
                             " seconds is too small: give at least 1"));
  }
  return absl::FromChrono(limit);
}

// Speed of the generators in the rounds that count, or 0 if unknown.
double ImagesPerSecond(const std::string& run_dir) {
  const absl::StatusOr<RoundHistory> history = RoundHistory::Read(run_dir);
  if (!history.ok()) return 0;
  const absl::StatusOr<TimeReport> report = MakeTimeReport({}, *history);
  if (!report.ok()) return 0;
  for (const RoleTimes& role : report->roles) {
    if (role.role == GENERATOR) return role.row.images_per_second;
  }
  return 0;
}

}  // namespace

Recipe::Recipe(std::string text, std::string name)
    : text_(std::move(text)), name_(std::move(name)) {}

Recipe Recipe::FromFile(const std::string& path) {
  return Recipe(ValueOrThrow(ReadFile(path, kMaxTextProtoBytes)), path);
}

Recipe Recipe::FromText(std::string text) {
  return Recipe(std::move(text), "recipe");
}

Recipe& Recipe::Set(const std::string& field, const std::string& value) {
  sets_.push_back(absl::StrCat(field, "=", value));
  return *this;
}

ScalingManager::ScalingManager(Recipe recipe, int64_t batch_size,
                               int num_workers, std::string run_dir,
                               std::string programs)
    : recipe_(std::move(recipe)),
      programs_(FindPrograms(programs)),
      num_workers_(num_workers) {
  constexpr int64_t kMaxBatch = int64_t{1} << 24;
  if (batch_size < 1 || batch_size > kMaxBatch) {
    throw Error(absl::StrCat("batch_size ", batch_size, " is not in [1, ",
                             kMaxBatch, "]"));
  }
  if (num_workers < 1 || num_workers > 8192) {
    throw Error(
        absl::StrCat("num_workers ", num_workers, " is not in [1, 8192]"));
  }
  const RunConfig config = ReadRecipe(recipe_);
  sets_ = SetsOf(config, batch_size, num_workers);
  run_dir_ = AbsoluteName(run_dir.empty() ? "runs/" + config.name() : run_dir);
}

std::vector<std::string> ScalingManager::TrainArguments(const Gan& gan) const {
  const std::string recipe = run_dir_ + "/recipe.textproto";
  ThrowIfError(WriteFile(recipe, recipe_.text()));
  std::vector<std::string> sets = sets_;
  if (!gan.networks.empty()) {
    for (const char* const role : {"generator", "discriminator"}) {
      sets.push_back(absl::StrCat(role, ".network.own.name=", gan.networks));
    }
  }
  sets.insert(sets.end(), recipe_.sets().begin(), recipe_.sets().end());
  std::vector<std::string> arguments = {programs_ + "/gandem", "train", recipe,
                                        "--run_dir", run_dir_};
  for (const std::string& set : sets) {
    arguments.insert(arguments.end(), {"--set", set});
  }
  if (num_workers_ == 1) arguments.push_back("--colocated");
  return arguments;
}

TrainResult ScalingManager::Train(const Gan& gan, std::chrono::seconds limit) {
  const absl::Duration at_most = AtMost(limit);
  if (has_trained_) {
    throw Error(absl::StrCat(
        "this ScalingManager has trained already; for more rounds make another "
        "one with run_dir '",
        run_dir_, "'"));
  }
  if (!gan.worker.empty() && !IsProgram(gan.worker)) {
    throw Error(absl::StrCat(
        "Gan.worker '", gan.worker, "' is no program that can be started: ",
        "build the program that calls gandem::WorkerMain and give its path"));
  }
  if (!gan.networks.empty() && gan.worker.empty() && !HasOwnWorker()) {
    throw Error(absl::StrCat("Gan.networks '", gan.networks,
                             "' are networks of your own: set Gan.worker "
                             "to the path of the program that defines them"));
  }
  worker_ = gan.worker.empty() ? "" : AbsoluteName(gan.worker);
  has_trained_ = true;
  ThrowIfError(CreateDirectories(run_dir_ + "/logs"));
  const std::string log = run_dir_ + "/logs/manager.log";
  const ProgramOutcome outcome =
      ValueOrThrow(RunProgram({.arguments = TrainArguments(gan),
                               .environment = EnvironmentOf(programs_, worker_),
                               .log_path = log,
                               .limit = at_most}));
  if (outcome.exit_code == kExitOk) return ResultOf("complete");
  if (outcome.exit_code != kExitResumable) {
    ThrowFailure("training", outcome, log);
  }
  return ResultOf(outcome.reached_limit
                      ? absl::StrCat("stopped at its limit of ",
                                     absl::FormatDuration(at_most))
                      : "stopped from outside");
}

TrainResult ScalingManager::ResultOf(const std::string& exit_reason) const {
  TrainResult result = {.is_complete = exit_reason == "complete",
                        .exit_reason = exit_reason};
  const auto newest = FindNewestCheckpoint(run_dir_);
  if (absl::IsNotFound(newest.status())) return result;
  ThrowIfError(newest.status());
  const RunConfig config =
      ValueOrThrow(LoadRunConfig(run_dir_ + "/config.textproto", {}));
  result.rounds = newest->step;
  result.images = newest->step * StepBatch(config.generator());
  result.images_per_second = ImagesPerSecond(run_dir_);
  result.checkpoint = newest->path;
  return result;
}

Score ScalingManager::Evaluate(const std::string& metric,
                               const std::vector<std::string>& arguments,
                               std::chrono::seconds limit) {
  const absl::Duration at_most = AtMost(limit);
  if (!PathExists(run_dir_ + "/config.textproto")) {
    throw Error(absl::StrCat("'", run_dir_, "' holds no run: Train first"));
  }
  ThrowIfError(CreateDirectories(run_dir_ + "/logs"));
  const std::string log = run_dir_ + "/logs/evaluate.log";
  std::vector<std::string> all = {programs_ + "/gandem", "evaluate", run_dir_,
                                  "--metric", metric};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ProgramOutcome outcome =
      ValueOrThrow(RunProgram({.arguments = std::move(all),
                               .environment = EnvironmentOf(programs_, worker_),
                               .log_path = log,
                               .limit = at_most}));
  if (outcome.reached_limit) {
    throw Error(absl::StrCat("the evaluation has reached its limit of ",
                             absl::FormatDuration(at_most), " (", log,
                             "); call Evaluate again to resume it"));
  }
  if (outcome.exit_code != kExitOk) ThrowFailure("evaluation", outcome, log);
  const MetricCard card =
      ValueOrThrow(ReadMetricCard(CardPathOf(outcome.said)));
  if (card.metrics().empty()) {
    throw Error(
        absl::StrCat("the card of '", metric, "' has no value (", log, ")"));
  }
  const Metric& first = card.metrics(0);
  Score score = {.name = first.name(),
                 .value = first.value(),
                 .num_images = first.num_images()};
  if (first.has_sd()) {
    score.low = first.value() - kOf95Percent * first.sd();
    score.high = first.value() + kOf95Percent * first.sd();
  }
  return score;
}

}  // namespace gandem
