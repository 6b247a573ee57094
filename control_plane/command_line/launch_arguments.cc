// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/launch_arguments.h"

#include <CLI/CLI.hpp>

#include "common/security/credentials.h"
#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kLaunchExamples[] =
    "Each has a --help of its own. Examples:\n"
    "  gandem launch slurm recipes/dcgan_64.textproto --run_dir /nfs/a\n"
    "  gandem launch kubernetes recipes/dcgan_64.textproto --dry_run \\\n"
    "      --image registry.example/gandem:0.1 --pvc shared\n";

constexpr char kLaunchSlurmExamples[] =
    "Writes RUN_DIR/slurm/job.sbatch, submits it and shows what it does. "
    "Ctrl-C\n"
    "leaves the job running; the same command finds it again\n"
    "(docs/operations.md).\n"
    "\n"
    "Examples:\n"
    "  gandem launch slurm recipes/dcgan_64.textproto --run_dir /nfs/a \\\n"
    "      --partition gpu --time 8:00:00 --gpus_per_worker 1\n"
    "  gandem launch slurm plan.textproto --run_dir /nfs/b --dry_run\n";

}  // namespace

LaunchArguments::LaunchArguments(CLI::App& app)
    : command_(app.add_subcommand("launch", "Train on a cluster")),
      slurm_(command_->add_subcommand("slurm", "As a job of Slurm")) {
  command_->require_subcommand(1);
  command_->footer(kLaunchExamples);
  slurm_->footer(kLaunchSlurmExamples);
  AddRun();
  AddWatching();
  AddAllocation();
}

void LaunchArguments::AddRun() {
  slurm_
      ->add_option("RECIPE", options_.recipe,
                   "A recipe, or a plan that `gandem plan` has made")
      ->required();
  slurm_
      ->add_option("--run_dir", options_.run_dir,
                   "Folder of the run, which all nodes see. A run that it has "
                   "goes on")
      ->required();
  slurm_
      ->add_option("--candidate", options_.candidate,
                   "Which of the plan's candidates")
      ->check(AtLeastOne())
      ->capture_default_str();
  slurm_->add_option("--data", options_.data,
                     "Images in place of the recipe's (docs/data.md)");
  AddSets(slurm_, "Changes a field of the recipe: path.to.field=value",
          options_.sets);
  AddOwnNetworks(slurm_, options_.python, options_.accept_changed_code);
  slurm_->add_flag("--insecure_network", options_.insecure_network,
                   kInsecureNetworkHelp);
  slurm_->add_flag("--dry_run", options_.dry_run,
                   "Print the batch script, write and submit nothing");
  slurm_->add_flag("--no_follow", options_.no_follow,
                   "Submit and leave, do not show what the job does");
}

void LaunchArguments::AddWatching() {
  AddMetricsPort(slurm_,
                 "of the job's first node; 0: any, `gandem status` says which",
                 options_.metrics_port)
      ->check(CLI::Range(0, 65535));
  AddLogFormat(slurm_, options_.log_format);
}

void LaunchArguments::AddAllocation() {
  slurm_
      ->add_option("--layout", options_.layout,
                   "one: all workers share one allocation, which outlives its "
                   "nodes; het: generators and discriminators are components "
                   "of a heterogeneous job, each of a node or more")
      ->check(CLI::IsMember({"one", "het"}))
      ->capture_default_str();
  slurm_
      ->add_option("--nodes", options_.nodes,
                   "Nodes for the whole job [as few as hold the workers]")
      ->check(AtLeastOne());
  slurm_->add_option("--partition", options_.partition,
                     "Where it runs [the cluster's default]");
  slurm_->add_option("--account", options_.account, "Whom it is charged to");
  slurm_->add_option("--time", options_.time,
                     "Limit of one stretch, as in 90 (minutes), 8:00:00 or "
                     "1-12; the job is requeued after it [the partition's]");
  slurm_
      ->add_option("--gpus_per_worker", options_.gpus_per_worker,
                   "GPUs for each worker")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  slurm_
      ->add_option("--signal", options_.signal,
                   "What Slurm sends before the time limit, for a checkpoint")
      ->check(CLI::IsMember({"USR1", "USR2", "HUP"}))
      ->capture_default_str();
  slurm_
      ->add_option("--signal_seconds", options_.signal_seconds,
                   "How long before it; Slurm may be a minute early")
      ->check(CLI::Range(10, 65535))
      ->capture_default_str();
}

std::optional<LaunchSlurmOptions> LaunchArguments::Given() const {
  if (!slurm_->parsed()) return std::nullopt;
  return options_;
}

}  // namespace gandem
