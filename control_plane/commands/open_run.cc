// SPDX-License-Identifier: Apache-2.0
#include "control_plane/commands/open_run.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
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
#include "pipeline/interruptible_reads.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {
namespace {

// Requires a UTF-8 path, because protobuf messages and the config contain it.
absl::Status CheckUtf8(const std::string& run_dir) {
  if (IsValidUtf8(run_dir)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--run_dir '", absl::CHexEscape(run_dir),
                   "' is not UTF-8: choose a folder whose path is UTF-8"));
}

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
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return CheckUtf8(options.run_dir);
}

absl::StatusOr<std::vector<int>> EvaluateCores(const TrainOptions& options) {
  if (options.evaluate_cores.empty()) return std::vector<int>();
  const std::vector<int> allowed = AllowedCores();
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> cores,
                          ParseCores(options.evaluate_cores, allowed));
  if (cores.size() == allowed.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--evaluate_cores ", options.evaluate_cores,
                     " leaves no core for the workers"));
  }
  return cores;
}

// Checks a config whose dataset is only on the workers' machines. The config
// must contain everything that is otherwise read from the dataset.
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
      "data.resize, which cannot be read from it"));
}

struct Choice {
  RecipeSource recipe = {};
  std::optional<Plan> plan = {};  // the recipe is its first candidate
  bool colocated = false;
  RunConfig given = {};  // fields that were not given are unset
  SeenDataset data = {};
  std::vector<std::string> notices = {};
};

absl::StatusOr<Choice> ChooseRecipe(const TrainOptions& options) {
  Choice choice = {.recipe = {.name = options.recipe,
                              .data = options.data,
                              .sets = options.sets},
                   .colocated = options.colocated};
  GANDEM_ASSIGN_OR_RETURN(choice.plan,
                          PlanToFollow(options.plan, options.run_dir));
  if (!choice.plan.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(choice.recipe.text, ReadRecipe(options.recipe));
    return choice;
  }
  const Candidate& chosen = choice.plan->candidates(0);
  choice.recipe.config = chosen.config();
  choice.recipe.name = absl::StrCat("plan '", chosen.name(), "'");
  choice.colocated = IsColocated(chosen);
  if (options.plan.is_auto()) {
    // The plan already contains the values of --set and --data.
    std::erase_if(choice.recipe.sets, std::not_fn(IsNoneOfThePlan));
    choice.recipe.data = "";
  }
  return choice;
}

absl::Status LoadConfig(bool elsewhere, Choice& choice) {
  GANDEM_ASSIGN_OR_RETURN(SeenRecipe seen, SeeRecipe(choice.recipe, elsewhere));
  choice.given = std::move(seen.config);
  choice.data = std::move(seen.data);
  const bool is_unseen = choice.data.text.empty();
  if (is_unseen && !choice.given.data().source().empty()) {
    GANDEM_RETURN_IF_ERROR(CheckUnseen(choice.given.data()));
  }
  if (!is_unseen) choice.notices.push_back(choice.data.text);
  choice.notices.insert(choice.notices.end(), seen.replaced.begin(),
                        seen.replaced.end());
  if (choice.colocated && (choice.given.generator().workers() > 1 ||
                           choice.given.discriminator().workers() > 1)) {
    return absl::InvalidArgumentError(
        "--colocated runs both roles in one process: leave it out, or set "
        "generator.workers=1 and discriminator.workers=1");
  }
  return Annotate(KnowOwnNetworks(choice.given), choice.recipe.name);
}

// Returns the config that workers get: absolute paths and all defaults.
EffectiveRunConfig Completed(RunConfig given) {
  MakePathsAbsolute(*given.mutable_data());
  return EffectiveRunConfig::OfValid(given);
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  const FileWait wait(path);
  std::error_code error;
  std::string resolved = std::filesystem::canonical(path, error);
  if (error) return FileError(error.value(), "cannot resolve", path);
  return resolved;
}

std::string ResumeHint(const RunConfig& old_config, const RunConfig& config) {
  if (CodeHasChanged(old_config, config)) {
    return "the file of a network has been changed; --accept_changed_code "
           "resumes with the file as it is now";
  }
  if (old_config.data().listing_sha256() != config.data().listing_sha256()) {
    return "images of data.source were added, removed or changed: the run "
           "resumes only with the images that it began with";
  }
  return DecayHint(old_config, config);
}

// Checks that the run can resume under `config`. Returns a notice or "".
absl::StatusOr<std::string> CheckResume(const std::string& run_dir,
                                        const FoundCheckpoint& newest,
                                        const RunConfig& config,
                                        const SeenDataset& seen,
                                        bool accept_changed_code) {
  if (newest.path.empty()) return "";
  if (newest.step > config.rounds()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "rounds is ", config.rounds(), ", but ", newest.step,
        " rounds are done (", newest.path, "): give at least that many, or ",
        "choose another --run_dir"));
  }
  const std::string path = newest.path + "/config.textproto";
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxTextProtoBytes));
  RunConfig saved;
  GANDEM_RETURN_IF_ERROR(ParseTextProto(text, path, saved));
  RunConfig old_config = EffectiveConfig(saved);
  DataConfig& old_data = *old_config.mutable_data();
  MakePathsAbsolute(old_data);
  GANDEM_RETURN_IF_ERROR(
      TakeMovedDataset(run_dir, config.data(), seen, old_data));
  // The listing may be unknown if the images are on other machines.
  if (old_data.listing_sha256().empty() ||
      config.data().listing_sha256().empty()) {
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

ThreadsByWorker ThreadsOf(const RunConfig& config, bool colocated) {
  if (colocated) return {{{COLOCATED, 0}, config.discriminator().threads()}};
  ThreadsByWorker threads;
  for (int rank = 0; rank < config.generator().workers(); ++rank) {
    threads[{GENERATOR, rank}] = config.generator().threads();
  }
  for (int rank = 0; rank < config.discriminator().workers(); ++rank) {
    threads[{DISCRIMINATOR, rank}] = config.discriminator().threads();
  }
  return threads;
}

Coordinator::Options CoordinatorOptions(const std::string& run_dir,
                                        const EffectiveRunConfig& effective,
                                        const TrainOptions& options,
                                        const ThreadsByWorker& threads) {
  const RunConfig& config = *effective;
  const ControlConfig& control = config.control();
  EpochOptions epoch = {
      .rounds = config.rounds(),
      .rounds_to_agreement = RoundsToAgreement(config),
      .external = options.external,
      .elastic = config.schedule().consistency() == ScheduleConfig::BOUNDED &&
                 !threads.contains({COLOCATED, 0}),
      .heartbeat_timeout = absl::Seconds(control.heartbeat_timeout_seconds()),
      .join_timeout = absl::Seconds(control.join_timeout_seconds()),
      .grace = absl::Seconds(control.grace_seconds()),
      // nullopt: derived from the run's round times.
      .progress_timeout = control.progress_timeout_seconds() < 0
                              ? std::nullopt
                              : std::optional(absl::Seconds(
                                    control.progress_timeout_seconds())),
      .restart_budget = control.restart_budget(),
      .max_rollbacks = control.on_divergence() == ControlConfig::ROLLBACK
                           ? control.max_rollbacks()
                           : 0};
  for (const auto& [worker, count] : threads) epoch.workers.push_back(worker);
  return {.run_name = config.name(),
          .run_dir = run_dir,
          .config_text = effective.Text(),
          .config_hash = effective.Hash(),
          .epoch = std::move(epoch),
          .starts_elsewhere = !options.start_by.empty(),
          .uses_gpus =
              IsOnGpu(config.generator()) || IsOnGpu(config.discriminator()),
          .ends_on_health_warning =
              control.on_divergence() == ControlConfig::STOP_EARLY,
          .keep_last = config.checkpoint().keep_last(),
          .keep_every = config.checkpoint().keep_every(),
          .evaluate_every = options.evaluate_every};
}

int TrainingCores(const std::vector<int>& evaluate_cores) {
  const auto cores = CoresWithout(AllowedCores(), evaluate_cores).size();
  return std::min(static_cast<int>(cores), UsableCores());
}

// Makes a plan for --plan AUTO if the run has none. Adds notices about it.
absl::Status FollowPlan(const TrainOptions& options, const std::string& run_dir,
                        bool begins, int cores, const ProfileMaker& measure,
                        Choice& choice) {
  if (options.plan.is_auto() && !choice.plan.has_value()) {
    if (!begins) {
      return absl::FailedPreconditionError(absl::StrCat(
          "'", run_dir, "' holds a run that was begun without a plan: leave ",
          "--plan AUTO out, or choose another --run_dir"));
    }
    GANDEM_ASSIGN_OR_RETURN(
        choice.plan,
        PlanNow(choice.given, options.plan.machines, run_dir, measure));
    choice.given = choice.plan->candidates(0).config();
    choice.colocated = IsColocated(choice.plan->candidates(0));
  }
  if (!choice.plan.has_value()) return absl::OkStatus();
  for (std::string& line : PlanNotices(*choice.plan)) {
    choice.notices.push_back(std::move(line));
  }
  return CheckMachineHas(*choice.plan, cores, options.elsewhere());
}

// Writes the files that the workers and later resumes read.
absl::Status WriteRun(const TrainOptions& options, RunSetup& setup) {
  GANDEM_RETURN_IF_ERROR(RecordDataset(setup.run_dir, setup.dataset_contents));
  GANDEM_ASSIGN_OR_RETURN(
      const std::vector<std::string> initial,
      TakeInitialStates(setup.run_dir, options.init, setup.begins));
  setup.notices.insert(setup.notices.end(), initial.begin(), initial.end());
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(setup.run_dir + "/config.textproto",
                                          setup.coordinator.config_text));
  if (setup.plan.has_value()) {
    // The config includes --set and --data.
    *setup.plan->mutable_candidates(0)->mutable_config() = *setup.config;
    GANDEM_RETURN_IF_ERROR(KeepPlan(setup.run_dir, *setup.plan));
  }
  return CreateDirectories(setup.run_dir + "/logs");
}

}  // namespace

absl::StatusOr<RunSetup> CheckRun(const TrainOptions& options,
                                  const ProfileMaker& measure) {
  GANDEM_RETURN_IF_ERROR(CheckFlags(options));
  GANDEM_ASSIGN_OR_RETURN(std::vector<int> evaluate_cores,
                          EvaluateCores(options));
  GANDEM_ASSIGN_OR_RETURN(Choice choice, ChooseRecipe(options));
  GANDEM_RETURN_IF_ERROR(LoadConfig(options.elsewhere(), choice));
  GANDEM_ASSIGN_OR_RETURN(std::string binaries, BinaryFolder());
  GANDEM_ASSIGN_OR_RETURN(
      WorkerProgram program,
      FindWorkerProgram(choice.given, std::move(binaries), options.python));
  GANDEM_RETURN_IF_ERROR(CheckDataset(Completed(choice.given)->data(),
                                      choice.data, options.elsewhere()));
  GANDEM_RETURN_IF_ERROR(CreateDirectories(options.run_dir));
  GANDEM_ASSIGN_OR_RETURN(std::string run_dir, AbsolutePath(options.run_dir));
  GANDEM_RETURN_IF_ERROR(CheckUtf8(run_dir));
  const RunFolder folder(run_dir);
  GANDEM_RETURN_IF_ERROR(folder.CheckNames());
  GANDEM_ASSIGN_OR_RETURN(RunLock lock, folder.LockForTraining());
  GANDEM_ASSIGN_OR_RETURN(const FoundCheckpoint newest,
                          folder.NewestCheckpoint());
  const bool begins = newest.path.empty();
  GANDEM_RETURN_IF_ERROR(FollowPlan(options, run_dir, begins,
                                    TrainingCores(evaluate_cores), measure,
                                    choice));
  EffectiveRunConfig config = Completed(std::move(choice.given));
  GANDEM_ASSIGN_OR_RETURN(std::string resume,
                          CheckResume(run_dir, newest, *config, choice.data,
                                      options.accept_changed_code));
  if (!resume.empty()) choice.notices.push_back(std::move(resume));
  GANDEM_ASSIGN_OR_RETURN(
      std::string contents,
      ContentsToRecord(run_dir, config->data(), choice.data, begins));
  ThreadsByWorker threads = ThreadsOf(*config, choice.colocated);
  Coordinator::Options coordinator =
      CoordinatorOptions(run_dir, config, options, threads);
  return RunSetup{.lock = std::move(lock),
                  .run_dir = std::move(run_dir),
                  .config = std::move(config),
                  .begins = begins,
                  .dataset_contents = std::move(contents),
                  .program = std::move(program),
                  .coordinator = std::move(coordinator),
                  .threads = std::move(threads),
                  .evaluate_cores = std::move(evaluate_cores),
                  .plan = std::move(choice.plan),
                  .notices = std::move(choice.notices)};
}

absl::StatusOr<RunSetup> PrepareRun(const TrainOptions& options,
                                    const ProfileMaker& measure) {
  const FilePatience patience("gandem train");
  const InterruptibleReads reads;
  bool stopped_measuring = false;
  absl::StatusOr<RunSetup> setup = CheckRun(
      options, [&](const RunConfig& recipe, const std::string& folder) {
        absl::StatusOr<Profile> profile = measure(recipe, folder);
        stopped_measuring = absl::IsCancelled(profile.status());
        return profile;
      });
  // The error of `measure` already says how to resume.
  if (stopped_measuring) return setup.status();
  absl::Status prepared = setup.status();
  if (prepared.ok()) prepared = WriteRun(options, *setup);
  GANDEM_RETURN_IF_ERROR(reads.Explain(std::move(prepared)));
  return setup;
}

}  // namespace gandem
