// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/launch_kubernetes_arguments.h"

#include <CLI/CLI.hpp>

#include "control_plane/command_line/argument_checks.h"

namespace gandem {
namespace {

constexpr char kLaunchKubernetesExamples[] =
    "docs/kubernetes.md explains what is made, and what to do when.\n"
    "\n"
    "Examples:\n"
    "  gandem launch kubernetes recipes/dcgan_64.textproto --dry_run \\\n"
    "      --image registry.example/gandem:0.1 --pvc shared \\\n"
    "      --data /gandem/data/photos\n"
    "  gandem launch kubernetes plan.textproto --namespace gans \\\n"
    "      --image registry.example/gandem:0.1 --storage_class nfs \\\n"
    "      --data s3://images/photos\n";

}  // namespace

LaunchKubernetesArguments::LaunchKubernetesArguments(CLI::App& launch)
    : command_(*launch.add_subcommand("kubernetes",
                                      "Start a run on a Kubernetes cluster")) {
  command_.footer(kLaunchKubernetesExamples);
  command_
      .add_option("RECIPE", options_.recipe,
                  "A recipe, or a plan that `gandem plan` has made")
      ->required();
  command_.add_option("--data", options_.data,
                      "Images in place of the recipe's, as pods see them: "
                      "/gandem/... is the volume; or a URL");
  AddSets(&command_, "Changes a field of the recipe: path.to.field=value",
          options_.sets);
  command_
      .add_option("--candidate", options_.candidate,
                  "Which of the plan's candidates")
      ->check(AtLeastOne())
      ->capture_default_str();
  command_.add_flag("--dry_run", options_.dry_run,
                    "Print the manifests, or write them to -o, and ask no "
                    "cluster");
  command_.add_option("-o,--output", options_.output,
                      "Folder for the manifests [NAME-kubernetes]");
  command_.add_option("--name", options_.name,
                      "With which all objects begin [the recipe's name]");
  command_.add_option("--namespace", options_.name_space, "Of the cluster")
      ->capture_default_str();
  command_
      .add_option("--image", options_.image,
                  "Made by scripts/build_container.sh, where the nodes find it")
      ->required();
  command_.add_option("--pvc", options_.pvc,
                      "PersistentVolumeClaim (ReadWriteMany) for the run "
                      "folder [with --storage_class NAME-run]");
  command_.add_option("--storage_class", options_.storage_class,
                      "Make the claim, of this class; it outlives the run");
  command_
      .add_option("--storage_size", options_.storage_size,
                  "Of the claim that is made")
      ->capture_default_str();
  command_.add_option(
      "--memory", options_.memory,
      "That each worker asks for and is limited to, as in 4GiB "
      "[a plan's prediction and a quarter; without a plan none]");
  AddMetricsPort(&command_, "of the coordinator's pod, as in 9400",
                 options_.metrics_port);
  AddLogFormat(&command_, options_.log_format);
  command_.add_flag("--jobset", options_.jobset,
                    "One JobSet in place of the Jobs, where the cluster has "
                    "its controller");
}

std::optional<LaunchKubernetesOptions> LaunchKubernetesArguments::Given()
    const {
  if (!command_.parsed()) return std::nullopt;
  return options_;
}

}  // namespace gandem
