// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/open_run.h"

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/checkpoint/initial_state.h"
#include "common/config/role_device.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/files/utf8.h"
#include "common/process/binary_folder.h"
#include "common/process/cores.h"
#include "common/process/machine.h"
#include "common/programs/own_networks.h"
#include "common/stalls/file_patience.h"
#include "common/status.h"
#include "control_plane/commands/config_differences.h"
#include "control_plane/commands/load_recipe.h"
#include "control_plane/commands/run_dataset.h"
#include "control_plane/coordinator/run_files.h"
#include "pipeline/interruptible_reads.h"
#include "pipeline/sources/open_dataset.h"
#include "pipeline/trees/folder_listings.h"
#include "scaling_manager/planner_commands/plan_file.h"

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
  if (!options.plan.plan.empty() && options.colocated) {
    faults.Add(
        "--colocated and --plan exclude each other: the plan says whether both "
        "roles share a process");
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

// The workers' machines may have a dataset that this one has not: then all that
// is looked up in it must be given.
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

// What the run is to be, before --data and --set.
struct GivenRecipe {
  std::string text;
  TrainOptions options;  // with its name in messages, and colocated
  std::optional<Plan> plan;
};

absl::StatusOr<GivenRecipe> FindRecipe(const TrainOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(std::optional<Plan> plan,
                          PlanToFollow(options.plan, options.run_dir));
  GivenRecipe given = {.text = "", .options = options, .plan = std::move(plan)};
  if (!given.plan.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(given.text, ReadRecipe(options.recipe));
    return given;
  }
  const Candidate& chosen = given.plan->candidates(0);
  given.text = EffectiveConfigText(chosen.config());
  given.options.colocated = IsColocated(chosen);
  given.options.recipe = absl::StrCat("plan '", chosen.name(), "'");
  if (options.plan.is_auto()) {
    // What was set when it was planned is in it.
    std::erase_if(given.options.sets, std::not_fn(IsNoneOfThePlan));
    given.options.data = "";
  }
  return given;
}

struct LoadedConfig {
  RunConfig given;   // what nobody gave is not set
  RunConfig config;  // the effective one
  std::string data;  // a line on a data.source; empty: there is none
};

absl::StatusOr<LoadedConfig> LoadConfig(const GivenRecipe& recipe) {
  const TrainOptions& options = recipe.options;
  const RecipeSource source = {.text = recipe.text,
                               .name = options.recipe,
                               .data = options.data,
                               .sets = options.sets,
                               .is_generated = recipe.plan.has_value()};
  GANDEM_ASSIGN_OR_RETURN(RunConfig given, ParseRecipe(source));
  absl::StatusOr<std::string> data = LookAtSource(*given.mutable_data());
  if (options.elsewhere() && absl::IsNotFound(data.status())) {
    GANDEM_RETURN_IF_ERROR(CheckUnseen(given.data()));
    data = "";
  }
  GANDEM_RETURN_IF_ERROR(data);
  GANDEM_RETURN_IF_ERROR(Annotate(KnowOwnNetworks(given), options.recipe));
  // Networks may not be for the channels that were found.
  GANDEM_RETURN_IF_ERROR(CheckRecipe(given, source));
  RunConfig config = EffectiveConfig(given);
  if (options.colocated && (config.generator().workers() > 1 ||
                            config.discriminator().workers() > 1)) {
    return absl::InvalidArgumentError(
        "--colocated runs both roles in one process: leave it out, or set "
        "generator.workers=1 and discriminator.workers=1");
  }
  MakePathsAbsolute(*config.mutable_data());
  return LoadedConfig{.given = std::move(given),
                      .config = std::move(config),
                      .data = *std::move(data)};
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  const FileWait wait(path);
  char* const resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return FileError(errno, "cannot resolve", path);
  std::string result = resolved;
  std::free(resolved);
  return result;
}

// The workers' machines may have a dataset that this one has not.
absl::Status CheckData(const DataConfig& data, bool external) {
  const absl::Status checked = CheckDataset(data);
  if (external && absl::IsNotFound(checked)) return absl::OkStatus();
  return checked;
}

// When the run begins or does not know it yet.
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

// What to do about a difference; "" where the fields say all.
std::string ResumeHint(const RunConfig& old_config, const RunConfig& config) {
  if (CodeHasChanged(old_config, config)) {
    return "the file of a network has been changed; --accept_changed_code goes "
           "on with it as it is now";
  }
  if (old_config.data().listing_sha256() != config.data().listing_sha256()) {
    return "images of data.source were added, removed or changed: that run "
           "goes on with those that it began with";
  }
  return DecayHint(old_config, config);
}

// Runs of older releases did not write down which images they have, or wrote
// another hash of the same ones; nor does a run whose images are on other
// machines.
bool HoldsSameImages(const DataConfig& old_data, const DataConfig& data) {
  if (old_data.listing_sha256().empty() || data.listing_sha256().empty() ||
      old_data.listing_sha256() == data.listing_sha256()) {
    return true;
  }
  DataConfig as_before = data;
  as_before.set_listing_sha256(old_data.listing_sha256());
  return OpenImages(as_before).ok();
}

// What the user should know of it; mostly nothing.
absl::StatusOr<std::string> CheckResume(const std::string& run_dir,
                                        const FoundCheckpoint& newest,
                                        const RunConfig& config,
                                        bool accept_changed_code) {
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
  if (HoldsSameImages(old_data, config.data())) {
    old_data.set_listing_sha256(config.data().listing_sha256());
  }
  TakeMovedCode(config, accept_changed_code, old_config);
  const std::vector<std::string> differences =
      ConfigDifferences(old_config, config);
  if (differences.empty()) return WorkersDifference(old_config, config);
  const std::string hint = ResumeHint(old_config, config);
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
      .starts_elsewhere = !options.start_by.empty(),
      .uses_gpus =
          IsOnGpu(config.generator()) || IsOnGpu(config.discriminator()),
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
      .ends_on_health_warning =
          control.on_divergence() == ControlConfig::STOP_EARLY,
      .keep_last = config.checkpoint().keep_last(),
      .keep_every = config.checkpoint().keep_every(),
      .evaluate_every = options.evaluate_every};
}

// Cores that the training may use.
int TrainingCores(const std::vector<int>& evaluate_cores) {
  const auto cores = CoresWithout(AllowedCores(), evaluate_cores).size();
  return std::min(static_cast<int>(cores), UsableCores());
}

// Plans now if that was asked for, and says what a plan is or would be.
absl::Status FollowPlan(const std::string& run_dir, bool begins, int cores,
                        const ProfileMaker& measure, GivenRecipe& given,
                        LoadedConfig& loaded,
                        std::vector<std::string>& notices) {
  TrainOptions& options = given.options;
  if (options.plan.is_auto() && !given.plan.has_value()) {
    if (!begins) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", run_dir, "' holds a run that was begun without a plan: leave ",
          "--plan AUTO out, or choose another --run_dir"));
    }
    GANDEM_ASSIGN_OR_RETURN(
        given.plan,
        PlanNow(loaded.given, options.plan.machines, run_dir, measure));
    loaded.config = EffectiveConfig(given.plan->candidates(0).config());
    MakePathsAbsolute(*loaded.config.mutable_data());
    options.colocated = IsColocated(given.plan->candidates(0));
  }
  if (!given.plan.has_value()) {
    std::string hint =
        begins && !options.elsewhere()
            ? BetterPlanHint(options.recipe, loaded.config, options.colocated)
            : "";
    if (!hint.empty()) notices.push_back(std::move(hint));
    return absl::OkStatus();
  }
  GANDEM_RETURN_IF_ERROR(
      CheckMachineHas(*given.plan, cores, options.elsewhere()));
  for (std::string& line : PlanNotices(*given.plan)) {
    notices.push_back(std::move(line));
  }
  return absl::OkStatus();
}

// The files that workers read, and those that resuming compares with.
absl::Status WriteRun(const TrainOptions& options, RunSetup& setup) {
  // What cannot be made is said now, and not after hours of training.
  for (const char* const name :
       {"checkpoints", "samples", "logs", "state", "tensorboard"}) {
    const absl::Status made =
        CreateDirectories(absl::StrCat(setup.run_dir, "/", name));
    if (made.ok()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        made.message(), "; move away what has its name (a file, or a link to ",
        "no folder), or choose another --run_dir"));
  }
  GANDEM_RETURN_IF_ERROR(
      KnowDataset(setup.run_dir, setup.config.data(), setup.begins));
  GANDEM_ASSIGN_OR_RETURN(
      const std::vector<std::string> initial,
      TakeInitialStates(setup.run_dir, options.init, setup.begins));
  setup.notices.insert(setup.notices.end(), initial.begin(), initial.end());
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(setup.run_dir + "/config.textproto",
                                          setup.coordinator.config_text));
  if (setup.plan.has_value()) {
    // With --set and --data.
    *setup.plan->mutable_candidates(0)->mutable_config() = setup.config;
    GANDEM_RETURN_IF_ERROR(KeepPlan(setup.run_dir, *setup.plan));
  }
  return CreateDirectories(setup.run_dir + "/logs");
}

}  // namespace

absl::StatusOr<RunSetup> CheckRun(const TrainOptions& as_given,
                                  const ProfileMaker& measure) {
  GANDEM_RETURN_IF_ERROR(CheckFlags(as_given));
  GANDEM_RETURN_IF_ERROR(CheckUtf8(as_given.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> evaluate_cores,
                          EvaluateCores(as_given));
  GANDEM_ASSIGN_OR_RETURN(GivenRecipe given, FindRecipe(as_given));
  const TrainOptions& options = given.options;
  GANDEM_ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(given));
  const RunConfig& config = loaded.config;
  GANDEM_ASSIGN_OR_RETURN(std::string binaries, BinaryFolder());
  GANDEM_ASSIGN_OR_RETURN(
      WorkerProgram program,
      FindWorkerProgram(config, std::move(binaries), options.python));
  GANDEM_RETURN_IF_ERROR(CheckData(config.data(), options.elsewhere()));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::string run_dir, AbsolutePath(options.run_dir));
  GANDEM_RETURN_IF_ERROR(CheckUtf8(run_dir));
  GANDEM_ASSIGN_OR_RETURN(RunLock lock, RunLock::Take(run_dir));
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          FindCheckpoint(run_dir));
  std::vector<std::string> notices = SetNotices(given.text, options);
  if (!loaded.data.empty()) notices.insert(notices.begin(), loaded.data);
  const bool begins = newest.path.empty();
  GANDEM_RETURN_IF_ERROR(FollowPlan(run_dir, begins,
                                    TrainingCores(evaluate_cores), measure,
                                    given, loaded, notices));
  GANDEM_ASSIGN_OR_RETURN(
      std::string resume,
      CheckResume(run_dir, newest, config, options.accept_changed_code));
  if (!resume.empty()) notices.push_back(std::move(resume));
  Coordinator::Options coordinator =
      CoordinatorOptions(run_dir, config, options);
  std::map<WorkerKey, int> threads = ThreadsOf(config, options.colocated);
  for (const auto& [worker, count] : threads) {
    coordinator.workers.push_back(worker);
  }
  return RunSetup{.lock = std::move(lock),
                  .run_dir = std::move(run_dir),
                  .config = config,
                  .begins = begins,
                  .program = std::move(program),
                  .coordinator = std::move(coordinator),
                  .threads = std::move(threads),
                  .images_per_round = StepBatch(config.generator()),
                  .evaluate_cores = std::move(evaluate_cores),
                  .plan = std::move(given.plan),
                  .lag = options.colocated ? 0 : config.schedule().lag(),
                  .notices = std::move(notices)};
}

absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options,
                                    const ProfileMaker& measure) {
  const FilePatience patience("gandem train");
  const InterruptibleReads reads;
  const FolderListings listings({.say = [](const std::string& line) {
    std::cerr << "gandem train: " << line << "\n";
  }});
  bool stopped_measuring = false;
  absl::StatusOr<RunSetup> setup = CheckRun(
      options, [&](const RunConfig& recipe, const std::string& folder) {
        absl::StatusOr<Profile> profile = measure(recipe, folder);
        stopped_measuring = absl::IsCancelled(profile.status());
        return profile;
      });
  // It says how to go on, and no images were read.
  if (stopped_measuring) return setup.status();
  absl::Status prepared = setup.status();
  if (prepared.ok()) prepared = WriteRun(options, *setup);
  GANDEM_RETURN_IF_ERROR(reads.Explain(std::move(prepared)));
  const absl::Status kept = listings.Keep(setup->run_dir);
  if (!kept.ok()) {
    setup->notices.push_back(
        absl::StrCat("each worker lists the images again: ", kept.message()));
  }
  return setup;
}

}  // namespace gandem
