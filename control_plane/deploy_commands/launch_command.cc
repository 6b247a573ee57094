// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/launch_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/files/file.h"
#include "common/files/text_proto.h"
#include "common/process/binary_folder.h"
#include "common/process/exit_code.h"
#include "common/programs/own_networks.h"
#include "common/programs/worker_program.h"
#include "common/status.h"
#include "control_plane/deploy_commands/follow_job.h"
#include "deploy/slurm/batch_script.h"
#include "deploy/slurm/slurm_tools.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {
namespace {

constexpr int64_t kMaxJobIdBytes = 64;

// The recipe that is trained, with what says so to `gandem coordinate`.
struct LaunchedRecipe {
  RunConfig config;
  std::vector<std::string> what;
};

std::string KeptRecipe(const std::string& run_dir) {
  return run_dir + "/slurm/recipe.textproto";
}

absl::StatusOr<LaunchedRecipe> OfPlan(const LaunchSlurmOptions& options,
                                      const Plan& plan) {
  if (options.candidate > plan.candidates_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--candidate ", options.candidate, ": '", options.recipe,
                     "' has ", plan.candidates_size(), " candidates"));
  }
  const Candidate& candidate =
      plan.candidates(static_cast<int>(options.candidate) - 1);
  if (IsColocated(candidate)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "candidate ", options.candidate, " of '", options.recipe, "' ('",
        candidate.name(),
        "') is one process for both networks, which needs "
        "no fleet: submit `gandem train --plan ",
        options.recipe, "` by sbatch, or choose another --candidate"));
  }
  return LaunchedRecipe{
      .config = candidate.config(),
      .what = {"--plan", KeptRecipe(options.run_dir), "--candidate",
               absl::StrCat(options.candidate)}};
}

absl::StatusOr<LaunchedRecipe> LoadLaunched(const LaunchSlurmOptions& options,
                                            const RecipeLoader& load) {
  GANDEM_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(options.recipe, kMaxTextProtoBytes));
  LaunchedRecipe launched;
  if (LooksLikePlan(text)) {
    GANDEM_ASSIGN_OR_RETURN(const Plan plan, ParsePlan(text, options.recipe));
    GANDEM_ASSIGN_OR_RETURN(launched, OfPlan(options, plan));
    launched.config = EffectiveConfig(launched.config);
    GANDEM_RETURN_IF_ERROR(SetFields(options.sets, launched.config));
    GANDEM_RETURN_IF_ERROR(
        Annotate(ValidateRunConfig(launched.config), options.recipe));
  } else {
    GANDEM_ASSIGN_OR_RETURN(launched.config,
                            load(options.recipe, options.data, options.sets));
    launched.what = {KeptRecipe(options.run_dir)};
  }
  for (const std::string& set : options.sets) {
    launched.what.insert(launched.what.end(), {"--set", set});
  }
  if (!options.data.empty()) {
    launched.what.insert(launched.what.end(), {"--data", options.data});
  }
  return launched;
}

// What a job with networks in Python needs. The script says which interpreter,
// for whoever submits it again.
absl::Status AddPythonFlags(const LaunchSlurmOptions& options, RunConfig config,
                            const std::string& binary_folder,
                            std::vector<std::string>& what) {
  GANDEM_RETURN_IF_ERROR(KnowOwnNetworks(config));
  GANDEM_ASSIGN_OR_RETURN(
      const WorkerProgram program,
      FindWorkerProgram(config, binary_folder, options.python));
  if (!program.python.empty()) {
    what.insert(what.end(), {"--python", AbsoluteName(program.python)});
  }
  if (options.accept_changed_code) what.push_back("--accept_changed_code");
  return absl::OkStatus();
}

// --nodes, shared out by the numbers of workers; of one layout all to the
// first.
void ShareNodes(int64_t nodes, SlurmJob& job) {
  if (nodes == 0) return;
  if (!job.heterogeneous) {
    job.generators.most_nodes = nodes;
    return;
  }
  const int64_t g = job.generators.workers;
  const int64_t d = job.discriminators.workers;
  const int64_t half = (g + d) / 2;
  int64_t share = (nodes * g + half) / (g + d);
  // More nodes than workers are refused later: no clamp, whose ends may cross.
  share = std::max(std::max<int64_t>(1, nodes - d),
                   std::min({share, g, std::max<int64_t>(1, nodes - 1)}));
  job.generators.most_nodes = share;
  job.discriminators.most_nodes = nodes - share;
}

absl::Status WriteScript(const LaunchSlurmOptions& options,
                         const std::string& script) {
  const std::string path = SlurmScriptPath(options.run_dir);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  GANDEM_ASSIGN_OR_RETURN(const std::string recipe,
                          ReadFile(options.recipe, kMaxTextProtoBytes));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(KeptRecipe(options.run_dir), recipe));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(path, script));
  if (chmod(path.c_str(), 0755) != 0) {
    return FileError(errno, "cannot make executable", path);
  }
  return absl::OkStatus();
}

std::string JobIdPath(const std::string& run_dir) {
  return run_dir + "/slurm/job.id";
}

absl::Status KeepJobId(const std::string& run_dir, int64_t job) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(JobIdPath(run_dir))));
  return WriteFileDurably(JobIdPath(run_dir), absl::StrCat(job, "\n"));
}

// The job whose number an earlier launch of this run has kept, if it lives.
std::optional<int64_t> KeptJob(const std::string& run_dir, SlurmTools& tools) {
  const auto text = ReadFile(JobIdPath(run_dir), kMaxJobIdBytes);
  if (!text.ok()) return std::nullopt;
  const auto job = ParseSlurmJobId(*text);
  if (!job.ok()) return std::nullopt;
  const auto state = tools.JobState(*job);
  if (!state.ok() || state->is_over()) return std::nullopt;
  return *job;
}

// The run's job, if one lives. A launch that died after sbatch, or a user who
// submitted the script, has left no number: then Slurm knows it. What Slurm
// does not say is an error, because two jobs would be submitted.
absl::StatusOr<std::optional<int64_t>> LivingJob(const std::string& run_dir,
                                                 SlurmTools& tools) {
  std::optional<int64_t> job = KeptJob(run_dir, tools);
  if (job.has_value()) return job;
  GANDEM_ASSIGN_OR_RETURN(job, tools.FindJob(SlurmComment(run_dir)));
  if (job.has_value()) GANDEM_RETURN_IF_ERROR(KeepJobId(run_dir, *job));
  return job;
}

absl::StatusOr<int64_t> SubmitRun(const LaunchSlurmOptions& options,
                                  const std::string& script,
                                  SlurmTools& tools) {
  GANDEM_RETURN_IF_ERROR(WriteScript(options, script));
  const std::string path = SlurmScriptPath(options.run_dir);
  const absl::StatusOr<int64_t> job = tools.Submit(path);
  if (absl::IsInvalidArgument(job.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("Slurm refuses ", path, ": ", job.status().message(),
                     "; `sinfo --long` lists partitions, nodes and limits"));
  }
  GANDEM_RETURN_IF_ERROR(job);
  GANDEM_RETURN_IF_ERROR(KeepJobId(options.run_dir, *job));
  return job;
}

}  // namespace

absl::StatusOr<SlurmJob> DescribeSlurmJob(const LaunchSlurmOptions& options,
                                          const RecipeLoader& load,
                                          const std::string& binary_folder) {
  GANDEM_ASSIGN_OR_RETURN(LaunchedRecipe launched, LoadLaunched(options, load));
  const RunConfig config = EffectiveConfig(launched.config);
  GANDEM_RETURN_IF_ERROR(
      AddPythonFlags(options, config, binary_folder, launched.what));
  std::error_code error;
  SlurmJob job = {
      .name = config.name(),
      .run_dir = options.run_dir,
      .binary_folder = binary_folder,
      .work_dir = std::filesystem::current_path(error).string(),
      .what = launched.what,
      .generators = {.workers = config.generator().workers(),
                     .cpus = config.generator().threads()},
      .discriminators = {.workers = config.discriminator().workers(),
                         .cpus = config.discriminator().threads()},
      .heterogeneous = options.layout == "het",
      .partition = options.partition,
      .account = options.account,
      .time = options.time,
      .gpus_per_worker = options.gpus_per_worker,
      .signal = options.signal,
      .signal_seconds = options.signal_seconds,
      .insecure_network = options.insecure_network,
      .metrics_port = options.metrics_port,
      .log_format = options.log_format};
  if (job.name.empty()) job.name = "gandem";
  ShareNodes(options.nodes, job);
  GANDEM_RETURN_IF_ERROR(CheckSlurmJob(job));
  return job;
}

absl::StatusOr<int> LaunchSlurm(const LaunchSlurmOptions& given,
                                const RecipeLoader& load, std::ostream& out) {
  LaunchSlurmOptions options = given;
  options.run_dir = AbsoluteName(options.run_dir);
  GANDEM_ASSIGN_OR_RETURN(const std::string binaries, BinaryFolder());
  GANDEM_ASSIGN_OR_RETURN(const SlurmJob described,
                          DescribeSlurmJob(options, load, binaries));
  const std::string script = BatchScript(described);
  if (options.dry_run) {
    out << script;
    return kExitOk;
  }
  SlurmTools tools;
  GANDEM_ASSIGN_OR_RETURN(std::optional<int64_t> job,
                          LivingJob(options.run_dir, tools));
  const bool is_new = !job.has_value();
  if (!is_new) {
    out << "job " << *job << " is at work on this run already; `scancel "
        << *job << "` ends it with a checkpoint" << std::endl;
  } else {
    GANDEM_ASSIGN_OR_RETURN(job, SubmitRun(options, script, tools));
    out << "submitted job " << *job << " by "
        << SlurmScriptPath(options.run_dir) << std::endl;
  }
  if (options.no_follow) return kExitOk;
  return FollowSlurmJob(
      {.job = *job,
       .log_path = absl::StrCat(options.run_dir, "/slurm/job-", *job, ".log"),
       .is_new = is_new},
      tools, out);
}

}  // namespace gandem
