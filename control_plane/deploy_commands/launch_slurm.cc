// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/launch_slurm.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/process/binary_folder.h"
#include "common/programs/own_networks.h"
#include "common/programs/worker_program.h"
#include "common/status.h"
#include "deploy/slurm/slurm_tools.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {
namespace {

std::string KeptRecipe(const std::string& run_dir) {
  return run_dir + "/slurm/recipe.textproto";
}

absl::StatusOr<LaunchedRecipe> LoadLaunched(const LaunchFlags& flags,
                                            const RecipeLoader& load) {
  GANDEM_ASSIGN_OR_RETURN(
      LaunchedRecipe launched,
      ReadLaunchedRecipe(flags, [&](const std::string& /*text*/) {
        return load(flags.recipe, flags.data, flags.sets);
      }));
  if (launched.candidate.has_value() && IsColocated(*launched.candidate)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "candidate ", flags.candidate, " of '", flags.recipe, "' ('",
        launched.candidate->name(),
        "') is one process for both networks, which needs no fleet: submit "
        "`gandem train --plan ",
        flags.recipe, "` by sbatch, or choose another --candidate"));
  }
  return launched;
}

// Adds the flags for networks in Python, so that any user can submit again.
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

absl::StatusOr<SlurmJob> DescribeJob(const LaunchSlurmOptions& options,
                                     const LaunchedRecipe& launched) {
  const RunConfig& config = launched.config;
  GANDEM_ASSIGN_OR_RETURN(const std::string binaries, BinaryFolder());
  std::error_code error;
  SlurmJob job = {.name = config.name().empty() ? "gandem" : config.name(),
                  .run_dir = options.run_dir,
                  .binary_folder = binaries,
                  .work_dir = std::filesystem::current_path(error).string(),
                  .workers = config.generator().workers() +
                             config.discriminator().workers(),
                  .generator_cpus = config.generator().threads(),
                  .discriminator_cpus = config.discriminator().threads(),
                  .allocation = options.allocation};
  if (launched.candidate.has_value()) job.what.push_back("--plan");
  job.what.push_back(KeptRecipe(options.run_dir));
  job.what.insert(job.what.end(), launched.arguments.begin(),
                  launched.arguments.end());
  GANDEM_RETURN_IF_ERROR(AddPythonFlags(options, config, binaries, job.what));
  GANDEM_RETURN_IF_ERROR(CheckSlurmJob(job));
  return job;
}

absl::Status WriteScript(const std::string& run_dir, const std::string& recipe,
                         const std::string& script) {
  const std::string path = SlurmScriptPath(run_dir);
  GANDEM_RETURN_IF_ERROR(CreateDirectories(ParentOf(path)));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(KeptRecipe(run_dir), recipe));
  GANDEM_RETURN_IF_ERROR(WriteFileDurably(path, script));
  if (chmod(path.c_str(), 0755) != 0) {
    return FileError(errno, "cannot make executable", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Submit(const std::string& script_path) {
  absl::StatusOr<int64_t> job = SubmitSlurmJob(script_path);
  if (!absl::IsInvalidArgument(job.status())) return job;
  return absl::InvalidArgumentError(
      absl::StrCat("Slurm refuses ", script_path, ": ", job.status().message(),
                   "; `sinfo --long` lists partitions, nodes and limits"));
}

}  // namespace

absl::Status LaunchSlurm(const LaunchSlurmOptions& given,
                         const RecipeLoader& load, std::ostream& out) {
  LaunchSlurmOptions options = given;
  options.run_dir = AbsoluteName(options.run_dir);
  GANDEM_ASSIGN_OR_RETURN(const LaunchedRecipe launched,
                          LoadLaunched(options.flags, load));
  GANDEM_ASSIGN_OR_RETURN(const SlurmJob described,
                          DescribeJob(options, launched));
  const std::string script = BatchScript(described);
  if (options.flags.dry_run) {
    out << script;
    return absl::OkStatus();
  }
  // Fail without an answer: otherwise two jobs might be submitted.
  GANDEM_ASSIGN_OR_RETURN(std::optional<int64_t> job,
                          FindSlurmJob(SlurmComment(options.run_dir)));
  if (job.has_value()) {
    out << "job " << *job << " is at work on this run already\n";
  } else {
    GANDEM_RETURN_IF_ERROR(WriteScript(options.run_dir, launched.text, script));
    const std::string path = SlurmScriptPath(options.run_dir);
    GANDEM_ASSIGN_OR_RETURN(job, Submit(path));
    out << "submitted job " << *job << " by " << path << "\n";
  }
  out << "  where it is:  squeue --job " << *job << "\n  what it says: tail -F "
      << options.run_dir << "/slurm/job-" << *job
      << ".log\n  progress:     gandem status " << options.run_dir
      << "\n  stop, with a checkpoint:  scancel " << *job << "\n";
  return absl::OkStatus();
}

}  // namespace gandem
