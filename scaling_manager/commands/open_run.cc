// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/open_run.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/files/text_proto.h"
#include "common/files/utf8.h"
#include "common/process/cores.h"
#include "common/status.h"
#include "pipeline/interruptible_reads.h"
#include "pipeline/sources/image_sources.h"
#include "scaling_manager/commands/config_differences.h"
#include "scaling_manager/commands/run_dataset.h"
#include "scaling_manager/coordinator/run_files.h"

namespace gandem {
namespace {

absl::Status CheckFlags(const TrainOptions& options) {
  Faults faults("gandem train");
  if (options.insecure_network && options.listen.empty()) {
    faults.Add("--insecure_network needs --listen HOST:PORT");
  }
  if (!options.certificates.empty() && options.listen.empty()) {
    faults.Add("--certificates needs --listen HOST:PORT");
  }
  if (options.evaluate_every == 0 &&
      (!options.evaluate_cores.empty() || !options.evaluate_args.empty())) {
    faults.Add("--evaluate_cores and --evaluate_args need --evaluate_every N");
  }
  return faults.ToStatus();
}

// Messages between processes and the config name the folder, as UTF-8.
absl::Status CheckUtf8(const std::string& run_dir) {
  if (IsValidUtf8(run_dir)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--run_dir '", absl::CHexEscape(run_dir),
                   "' is not UTF-8: choose a folder whose path is"));
}

// What --set drops without having been asked to.
std::vector<std::string> SetNotices(const std::string& recipe,
                                    const TrainOptions& options) {
  RunConfig config;
  std::vector<std::string> notices;
  ParseTextProto(recipe, options.recipe, config).IgnoreError();
  for (const std::string& set : options.sets) {
    const std::string replaced = ReplacedBy(set, config);
    if (!replaced.empty()) {
      notices.push_back(absl::StrCat("--set ", set, " drops the recipe's ",
                                     replaced, " with all that it sets"));
    }
    SetField(set, config).IgnoreError();
  }
  return notices;
}

absl::StatusOr<std::vector<int>> EvaluateCores(const TrainOptions& options) {
  if (options.evaluate_cores.empty()) return std::vector<int>();
  const std::vector<int> allowed = AllowedCores();
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> cores,
                          ParseCores(options.evaluate_cores, allowed));
  if (cores.size() == allowed.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--evaluate_cores ", options.evaluate_cores,
                     " leaves no core to the training"));
  }
  return cores;
}

// What --data sets: the source alone names images then. A recipe that tells its
// networks classes gets as many as the labels are.
absl::StatusOr<std::vector<std::string>> DataSets(const std::string& recipe,
                                                  const TrainOptions& options) {
  std::vector<std::string> sets;
  if (options.data.empty()) return sets;
  if (!IsValidUtf8(options.data)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data '", PrintableText(options.data),
        "' is not UTF-8, as the text of a config has to be: rename it, or name "
        "a link to it"));
  }
  for (const char* const field : {"idx_images", "idx_labels", "idx_inputs"}) {
    sets.push_back(absl::StrCat("data.", field, "=\"\""));
  }
  sets.push_back(absl::StrCat("data.source=\"",
                              absl::Utf8SafeCEscape(options.data), "\""));
  RunConfig config;
  ParseTextProto(recipe, options.recipe, config).IgnoreError();  // said later
  if (config.data().num_classes() == 0) return sets;
  GANDEM_RETURN_IF_ERROR(Annotate(ProbeSource(options.data), "--data"));
  const auto source = OpenSource(options.data);
  if (!source.ok()) return Annotate(source.status(), "--data");
  const int64_t num_classes = NumClasses(**source);
  if (num_classes > 0) {
    sets.push_back(absl::StrCat("data.num_classes=", num_classes));
  }
  return sets;
}

absl::StatusOr<RunConfig> ParseWithSets(const std::string& recipe,
                                        const TrainOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> sets,
                          DataSets(recipe, options));
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  return ParseRunConfig(recipe, options.recipe, sets);
}

// With --external the workers' machines may have a dataset that this one has
// not: then all that is looked up in it must be given.
absl::Status CheckUnseen(const DataConfig& data) {
  if (!data.exclude().empty() && data.exclude_sha256().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "data.exclude '", data.exclude(), "' is not on this machine: set ",
        "data.exclude_sha256 to its SHA-256 (`sha256sum`)"));
  }
  if (data.channels() != 0 && data.has_fit() && data.has_crop() &&
      data.has_resize()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "data.source '", data.source(),
      "' is not on this machine: set data.channels, data.fit, data.crop and ",
      "data.resize, which are looked up in it otherwise"));
}

struct LoadedConfig {
  RunConfig config;  // the effective one
  std::string data;  // a line on a data.source; empty: there is none
};

absl::StatusOr<LoadedConfig> LoadConfig(const std::string& recipe,
                                        const TrainOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(RunConfig given, ParseWithSets(recipe, options));
  absl::StatusOr<std::string> data = LookAtSource(*given.mutable_data());
  if (options.external && absl::IsNotFound(data.status())) {
    GANDEM_RETURN_IF_ERROR(CheckUnseen(given.data()));
    data = "";
  }
  GANDEM_RETURN_IF_ERROR(data);
  // Networks may not be for the channels that were found.
  GANDEM_RETURN_IF_ERROR(Annotate(ValidateRunConfig(given), options.recipe));
  RunConfig config = EffectiveConfig(given);
  if (options.colocated && (config.generator().workers() > 1 ||
                            config.discriminator().workers() > 1)) {
    return absl::InvalidArgumentError(
        "--colocated runs both roles in one process: leave it out, or set "
        "generator.workers=1 and discriminator.workers=1");
  }
  MakePathsAbsolute(*config.mutable_data());
  return LoadedConfig{.config = std::move(config), .data = *std::move(data)};
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  char* const resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return FileError(errno, "cannot resolve", path);
  std::string result = resolved;
  std::free(resolved);
  return result;
}

// What a run writes into must be folders, before hours of training find out.
absl::Status CheckRunFolders(const std::string& run_dir) {
  for (const char* const name : {"checkpoints", "samples", "logs", "state",
                                 "tensorboard", "trace", "evaluation"}) {
    const std::string path = absl::StrCat(run_dir, "/", name);
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) &&
        !std::filesystem::is_directory(status)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", path, "' is no folder, and the run needs one of this name: ",
          "move it away, or choose another --run_dir"));
    }
  }
  return absl::OkStatus();
}

// With --external the workers' machines may have a dataset that this one has
// not.
absl::Status CheckData(const DataConfig& data, bool external) {
  const absl::Status checked = CheckDataset(data);
  if (external && absl::IsNotFound(checked)) return absl::OkStatus();
  return checked;
}

// What is in the dataset, when the run begins or does not know it yet.
absl::Status KnowDataset(const std::string& run_dir, const DataConfig& data,
                         bool begins) {
  if (!begins && HasDatasetRecord(run_dir)) return absl::OkStatus();
  const absl::Status recorded = RecordDataset(run_dir, data);
  return absl::IsNotFound(recorded) ? absl::OkStatus() : recorded;
}

absl::Status CheckRounds(const FoundCheckpoint& newest,
                         const RunConfig& config) {
  if (newest.step <= config.rounds()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "rounds is ", config.rounds(), ", but ", newest.step,
      " rounds are done (", newest.path, "): give at least that many, or ",
      "choose another --run_dir"));
}

// What the user should know of it; mostly nothing.
absl::StatusOr<std::string> CheckResume(const std::string& run_dir,
                                        const FoundCheckpoint& newest,
                                        const RunConfig& config) {
  if (newest.path.empty()) return "";
  GANDEM_RETURN_IF_ERROR(CheckRounds(newest, config));
  const std::string path = newest.path + "/config.textproto";
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  RunConfig saved;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, saved));
  RunConfig old_config = EffectiveConfig(saved);
  DataConfig& old_data = *old_config.mutable_data();
  MakePathsAbsolute(old_data);
  GANDEM_RETURN_IF_ERROR(TakeMovedDataset(run_dir, config.data(), old_data));
  const std::vector<std::string> differences =
      ConfigDifferences(old_config, config);
  if (differences.empty()) return WorkersDifference(old_config, config);
  const std::string hint = DecayHint(old_config, config);
  return absl::FailedPreconditionError(absl::StrCat(
      "'", run_dir, "' holds a run of another config (checkpoint of ",
      newest.step,
      " rounds); choose another --run_dir, or the old values:", "\n  ",
      absl::StrJoin(differences, "\n  "), hint.empty() ? "" : "\n", hint));
}

// The compute threads of each worker.
std::map<WorkerKey, int> ThreadsOf(const RunConfig& config, bool colocated) {
  if (colocated) return {{{COLOCATED, 0}, config.discriminator().threads()}};
  std::map<WorkerKey, int> threads;
  for (int rank = 0; rank < config.generator().workers(); ++rank) {
    threads[{GENERATOR, rank}] = config.generator().threads();
  }
  for (int rank = 0; rank < config.discriminator().workers(); ++rank) {
    threads[{DISCRIMINATOR, rank}] = config.discriminator().threads();
  }
  return threads;
}

// Nothing: from the run's own round times.
std::optional<absl::Duration> ProgressTimeout(const ControlConfig& control) {
  const double seconds = control.progress_timeout_seconds();
  return seconds < 0 ? std::nullopt : std::optional(absl::Seconds(seconds));
}

Coordinator::Options CoordinatorOptions(const std::string& run_dir,
                                        const RunConfig& config,
                                        const TrainOptions& options) {
  const ControlConfig& control = config.control();
  return {
      .run_name = config.name(),
      .run_dir = run_dir,
      .config_text = EffectiveConfigText(config),
      .config_hash = ConfigHash(config),
      .rounds = config.rounds(),
      .rounds_to_agreement = RoundsToAgreement(config),
      .external = options.external,
      .elastic = config.schedule().consistency() == ScheduleConfig::BOUNDED &&
                 !options.colocated,
      .heartbeat_timeout = absl::Seconds(control.heartbeat_timeout_seconds()),
      .join_timeout = absl::Seconds(control.join_timeout_seconds()),
      .grace = absl::Seconds(control.grace_seconds()),
      .progress_timeout = ProgressTimeout(control),
      .restart_budget = control.restart_budget(),
      .max_rollbacks = control.on_divergence() == ControlConfig::ROLLBACK
                           ? control.max_rollbacks()
                           : 0,
      .keep_last = config.checkpoint().keep_last(),
      .keep_every = config.checkpoint().keep_every(),
      .evaluate_every = options.evaluate_every};
}

absl::StatusOr<RunSetup> Prepare(const TrainOptions& options) {
  GANDEM_RETURN_IF_ERROR(CheckFlags(options));
  GANDEM_RETURN_IF_ERROR(CheckUtf8(options.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> evaluate_cores,
                          EvaluateCores(options));
  GANDEM_ASSIGN_OR_RETURN(const std::string recipe,
                          ReadFile(options.recipe, kMaxTextProtoBytes));
  GANDEM_ASSIGN_OR_RETURN(const LoadedConfig loaded,
                          LoadConfig(recipe, options));
  const RunConfig& config = loaded.config;
  GANDEM_RETURN_IF_ERROR(CheckData(config.data(), options.external));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::string run_dir, AbsolutePath(options.run_dir));
  GANDEM_RETURN_IF_ERROR(CheckUtf8(run_dir));
  GANDEM_RETURN_IF_ERROR(CheckRunFolders(run_dir));
  GANDEM_ASSIGN_OR_RETURN(RunLock lock, RunLock::Take(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          FindCheckpoint(run_dir));
  std::vector<std::string> notices = SetNotices(recipe, options);
  if (!loaded.data.empty()) notices.insert(notices.begin(), loaded.data);
  GANDEM_ASSIGN_OR_RETURN(std::string resume,
                          CheckResume(run_dir, newest, config));
  if (!resume.empty()) notices.push_back(std::move(resume));
  GANDEM_RETURN_IF_ERROR(
      KnowDataset(run_dir, config.data(), /*begins=*/newest.path.empty()));
  Coordinator::Options coordinator =
      CoordinatorOptions(run_dir, config, options);
  std::map<WorkerKey, int> threads = ThreadsOf(config, options.colocated);
  for (const auto& [worker, count] : threads) {
    coordinator.workers.push_back(worker);
  }
  GANDEM_RETURN_IF_ERROR(
      WriteFileDurably(run_dir + "/config.textproto", coordinator.config_text));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(run_dir + "/logs"));
  return RunSetup{.lock = std::move(lock),
                  .run_dir = std::move(run_dir),
                  .coordinator = std::move(coordinator),
                  .threads = std::move(threads),
                  .images_per_round = StepBatch(config.generator()),
                  .evaluate_cores = std::move(evaluate_cores),
                  .notices = std::move(notices)};
}

}  // namespace

absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options) {
  const InterruptibleReads reads;
  absl::StatusOr<RunSetup> setup = Prepare(options);
  GANDEM_RETURN_IF_ERROR(reads.Explain(setup.status()));
  return setup;
}

}  // namespace gandem
