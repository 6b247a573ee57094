// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/security/credentials.h"
#include "control_plane/command_line/argument_checks.h"
#include "control_plane/command_line/command_arguments.h"

namespace gandem {
namespace {

constexpr char kLaunchExamples[] =
    "Examples (`gandem launch slurm --help` lists the options):\n"
    "  gandem launch slurm recipes/dcgan_64.textproto --run_dir /nfs/a\n"
    "  gandem launch kubernetes recipes/dcgan_64.textproto --dry_run \\\n"
    "      --image registry.example/gandem:0.1 --pvc shared\n";

constexpr char kLaunchSlurmExamples[] =
    "Writes RUN_DIR/slurm/job.sbatch and submits it. If the run has a job "
    "already,\n"
    "the command reports it; otherwise it resumes the run "
    "(docs/how_to/slurm.md).\n"
    "\n"
    "Examples:\n"
    "  gandem launch slurm recipes/dcgan_64.textproto --run_dir /nfs/a \\\n"
    "      --partition gpu --time 8:00:00 --gpus_per_worker 1\n"
    "  gandem launch slurm plan.textproto --run_dir /nfs/b --dry_run\n";

constexpr char kLaunchKubernetesExamples[] =
    "docs/how_to/kubernetes.md explains the manifests and how to handle "
    "failures.\n"
    "\n"
    "Examples:\n"
    "  gandem launch kubernetes recipes/dcgan_64.textproto --dry_run \\\n"
    "      --image registry.example/gandem:0.1 --pvc shared \\\n"
    "      --data /gandem/data/photos\n"
    "  gandem launch kubernetes plan.textproto --namespace gans \\\n"
    "      --image registry.example/gandem:0.1 --storage_class nfs \\\n"
    "      --data s3://images/photos\n";

void AddLaunchFlags(CLI::App* command, const std::string& dry_run_help,
                    LaunchFlags& flags) {
  command
      ->add_option("RECIPE", flags.recipe,
                   "Recipe, or plan file written by `gandem plan`")
      ->required();
  AddCandidate(command, nullptr, flags.candidate);
  AddSets(command, kSetsHelp, flags.sets);
  command->add_flag("--dry_run", flags.dry_run, dry_run_help);
}

// Adds --metrics_port. `help` completes "Port where Prometheus reads ..., ".
CLI::Option* AddMetricsPort(CLI::App* command, const std::string& help,
                            std::optional<int>& port) {
  return command->add_option(
      "--metrics_port", port,
      absl::StrCat("Port where ", kPrometheusHelp, ", ", help));
}

void AddAllocation(CLI::App* command, SlurmAllocation& allocation) {
  AddMetricsPort(command,
                 "on the job's first node; 0 picks a free port, which `gandem "
                 "status` prints",
                 allocation.metrics_port)
      ->check(CLI::Range(0, 65535));
  AddLogFormat(command, allocation.log_format);
  command->add_flag("--insecure_network", allocation.insecure_network,
                    kInsecureNetworkHelp);
  command
      ->add_option(
          "--nodes", allocation.nodes,
          "Number of nodes for the job (default: as few as the workers need)")
      ->check(AtLeastOne());
  command->add_option("--partition", allocation.partition,
                      "Partition to run the job in (default: the cluster's)");
  command->add_option("--account", allocation.account,
                      "Account to charge the job to");
  command->add_option(
      "--time", allocation.time,
      "Time limit after which the job is requeued and resumes, for example 90 "
      "(minutes), 8:00:00 or 1-12 (days-hours) (default: the partition's)");
  command
      ->add_option("--gpus_per_worker", allocation.gpus_per_worker,
                   "Number of GPUs per worker")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command
      ->add_option("--signal_seconds", allocation.signal_seconds,
                   "Seconds before the time limit at which Slurm sends the "
                   "signal for a checkpoint; it may be up to a minute early")
      ->check(CLI::Range(10, 65535))
      ->capture_default_str();
}

}  // namespace

CLI::App* AddLaunch(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("launch", "Train on a cluster");
  command->require_subcommand(1);
  command->footer(kLaunchExamples);
  return command;
}

CLI::App* AddLaunchSlurm(CLI::App& launch, LaunchSlurmOptions& options) {
  CLI::App* const command =
      launch.add_subcommand("slurm", "Start a run as a job of Slurm");
  command->footer(kLaunchSlurmExamples);
  AddLaunchFlags(command, "Print the batch script; write and submit nothing",
                 options.flags);
  AddData(command, options.flags.data);
  command
      ->add_option("--run_dir", options.run_dir,
                   "Run directory on a file system that all nodes share. An "
                   "existing run is resumed")
      ->required();
  AddOwnNetworks(command, options.python, options.accept_changed_code);
  AddAllocation(command, options.allocation);
  return command;
}

CLI::App* AddLaunchKubernetes(CLI::App& launch,
                              LaunchKubernetesOptions& options) {
  CLI::App* const command = launch.add_subcommand(
      "kubernetes", "Start a run on a Kubernetes cluster");
  command->footer(kLaunchKubernetesExamples);
  AddLaunchFlags(
      command,
      "Print the manifests, or write them to -o, without contacting a cluster",
      options.flags);
  command->add_option("--data", options.flags.data,
                      "Images to train on in place of the recipe's: a path in "
                      "the pods (/gandem/... is the volume) or a URL");
  command->add_option("-o,--output", options.output,
                      "Folder for the manifests (default: NAME-kubernetes)");
  command->add_option(
      "--name", options.run.name,
      "Prefix of the names of all objects (default: the recipe's name)");
  command
      ->add_option("--namespace", options.run.name_space,
                   "Namespace to create the objects in")
      ->capture_default_str();
  command
      ->add_option("--image", options.run.image,
                   "Container image made by scripts/build_container.sh, by the "
                   "name under which the nodes can pull it")
      ->required();
  command->add_option("--pvc", options.run.volume.claim,
                      "PersistentVolumeClaim (ReadWriteMany) for the run "
                      "directory (default with --storage_class: NAME-run)");
  command->add_option(
      "--storage_class", options.run.volume.storage_class,
      "Create the claim with this storage class; the claim outlives the run");
  command
      ->add_option("--storage_size", options.run.volume.size,
                   "Size of the claim that --storage_class creates")
      ->capture_default_str();
  command->add_option(
      "--memory", options.memory,
      "Memory request and limit of each worker, for example 4GiB (default: "
      "1.25 times the plan's prediction; without a plan no limit)");
  AddMetricsPort(command, "on the coordinator's pod, for example 9400",
                 options.run.metrics_port);
  AddLogFormat(command, options.run.log_format);
  return command;
}

}  // namespace gandem
