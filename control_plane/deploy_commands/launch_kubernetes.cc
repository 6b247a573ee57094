// SPDX-License-Identifier: Apache-2.0
#include "control_plane/deploy_commands/launch_kubernetes.h"

#include <cmath>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/config/role_device.h"
#include "common/config/run_config.h"
#include "common/faults.h"
#include "common/files/file.h"
#include "common/files/quantities.h"
#include "common/monotonic_time.h"
#include "common/process/child_process.h"
#include "common/programs/worker_program.h"
#include "common/status.h"
#include "deploy/kubernetes/manifests.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {
namespace {

// Time limit of kubectl for an unresponsive cluster, above kubectl's own limit.
constexpr absl::Duration kKubectlTimeout = absl::Seconds(90);
// Factor on the memory that a plan predicts, for memory that it ignores.
constexpr double kMemoryMargin = 1.25;

// Returns the memory limit for a role, or 0 if unknown. Predictions for a role
// with GPUs contain only the memory of the GPUs.
int64_t PredictedBytes(const LaunchedRecipe& launched, const RoleConfig& config,
                       Role role) {
  if (!launched.candidate.has_value() || IsOnGpu(config)) return 0;
  const Prediction& prediction = launched.candidate->prediction();
  const int64_t bytes = role == GENERATOR ? prediction.generator_bytes()
                                          : prediction.discriminator_bytes();
  return std::llround(kMemoryMargin * static_cast<double>(bytes));
}

void AddFleet(const LaunchedRecipe& launched, Role role, int64_t memory_bytes,
              KubernetesRun& run) {
  const RoleConfig& config = role == GENERATOR
                                 ? launched.config.generator()
                                 : launched.config.discriminator();
  const int64_t bytes =
      memory_bytes > 0 ? memory_bytes : PredictedBytes(launched, config, role);
  for (int rank = 0; rank < config.workers(); ++rank) {
    run.workers.push_back({.role = role,
                           .rank = rank,
                           .threads = config.threads(),
                           .gpus = IsOnGpu(config) ? 1 : 0,
                           .memory_bytes = bytes});
  }
}

void AddWorkers(const LaunchedRecipe& launched, int64_t memory_bytes,
                KubernetesRun& run) {
  if (!launched.candidate.has_value() || !IsColocated(*launched.candidate)) {
    AddFleet(launched, GENERATOR, memory_bytes, run);
    AddFleet(launched, DISCRIMINATOR, memory_bytes, run);
    return;
  }
  AddFleet(launched, DISCRIMINATOR, memory_bytes, run);
  run.workers.front().role = COLOCATED;
}

// Checks that pods have everything that the config names. Pods do not see the
// GPUs, files and Python of this machine.
absl::Status CheckInPods(const RunConfig& config, const std::string& data,
                         const KubernetesRun& run) {
  Faults faults("what the cluster is to run");
  for (const auto& [field, role] :
       {std::pair("generator.device", &config.generator()),
        std::pair("discriminator.device", &config.discriminator())}) {
    if (absl::StartsWith(role->device(), "cuda:")) {
      faults.Add(absl::StrCat(field, " '", role->device(),
                              "': a pod sees the GPU that it is given and no "
                              "other: --set ",
                              field, "=cuda"));
    }
  }
  const std::string& images = data.empty() ? ImagesPath(config.data()) : data;
  if (!absl::StartsWith(images, "/") && !absl::StrContains(images, "://")) {
    faults.Add(absl::StrCat("the images '", images,
                            "' are named from a folder of this machine: "
                            "give --data a path in the pods, such as ",
                            kVolumePath,
                            "/data/images on the volume, or a URL"));
  }
  const std::string own = OwnNetworkOf(config);
  if (!own.empty()) {
    faults.Add(absl::StrCat(own,
                            ": the image of gandem has no interpreter and no "
                            "torch for networks in Python: train on this "
                            "machine, on Slurm, or by `gandem coordinate` "
                            "(docs/how_to/several_hosts.md)"));
  }
  const bool makes_claim = !run.volume.storage_class.empty();
  if (run.volume.claim.empty() && !makes_claim) {
    faults.Add(
        "the run folder needs a volume that all nodes can write to: --pvc "
        "NAME of a PersistentVolumeClaim, or --storage_class NAME to make one");
  }
  return faults.ToStatus();
}

absl::StatusOr<int> Kubectl(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/env", "kubectl"});
  GANDEM_ASSIGN_OR_RETURN(ChildProcess child,
                          ChildProcess::Start({.arguments = arguments}));
  const auto end = child.AwaitEnd(MonotonicNow() + kKubectlTimeout);
  if (!end.ok()) {
    return absl::DeadlineExceededError(absl::StrCat(
        "kubectl has not ended in ", absl::FormatDuration(kKubectlTimeout),
        ": does `kubectl get nodes` answer?"));
  }
  if (end->exit_code == 127) {
    return absl::NotFoundError(
        "there is no kubectl on this machine's PATH: install it "
        "(kubernetes-client), or use --dry_run and apply the manifests "
        "elsewhere");
  }
  return end->exit_code;
}

// Checks that the claim exists, because pods wait for a missing claim.
absl::Status CheckClaim(const KubernetesRun& run) {
  if (!run.volume.storage_class.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      const int exit_code,
      Kubectl({"get", "persistentvolumeclaim", run.volume.claim, "--namespace",
               run.name_space, "--output", "name", "--request-timeout=20s"}));
  if (exit_code == 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "the cluster gives no persistentvolumeclaim '", run.volume.claim,
      "' in namespace '", run.name_space, "' (above is what kubectl says): if ",
      "the cluster answers (KUBECONFIG names it), name a claim that exists by ",
      "--pvc, or have one made by --storage_class"));
}

absl::Status Apply(const KubernetesRun& run, const std::string& folder) {
  std::vector<std::vector<std::string>> steps;
  if (!run.volume.storage_class.empty()) {
    steps.push_back({"-f", absl::StrCat(folder, "/", kVolumeFile)});
  }
  steps.push_back({"-k", folder});
  for (std::vector<std::string> step : steps) {
    step.insert(step.begin(), {"apply", "--request-timeout=30s"});
    GANDEM_ASSIGN_OR_RETURN(const int exit_code, Kubectl(step));
    if (exit_code == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the cluster has not taken all of '", folder,
                     "' (above is what kubectl says); `kubectl delete -k ",
                     folder, "` takes back what it has"));
  }
  return absl::OkStatus();
}

std::string WhatNow(const KubernetesRun& run, const std::string& folder) {
  const std::string here = absl::StrCat("kubectl -n ", run.name_space, " ");
  const std::string coordinator = "job/" + CoordinatorName(run);
  return absl::StrCat(
      "the run is with the cluster; it goes on without this machine\n",
      "  who runs where:  ", here, "get pods -o wide -l gandem/run=", run.name,
      "\n  progress:        ", here, "logs -f ", coordinator,
      "\n  status:          ", here, "exec ", coordinator, " -- gandem status ",
      RunFolderInPod(run), "\n  stop, with a checkpoint:  kubectl delete -k ",
      folder, "\n");
}

absl::Status WriteManifests(const std::vector<ManifestFile>& files,
                            const std::string& folder) {
  GANDEM_RETURN_IF_ERROR(CreateDirectories(folder));
  for (const ManifestFile& file : files) {
    GANDEM_RETURN_IF_ERROR(
        WriteFileDurably(absl::StrCat(folder, "/", file.name), file.text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KubernetesRun> KubernetesRunOf(
    const LaunchKubernetesOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(
      LaunchedRecipe launched,
      ReadLaunchedRecipe(options.flags, [&](const std::string& text) {
        return ParseRunConfig(text, options.flags.recipe, options.flags.sets);
      }));
  int64_t memory_bytes = 0;
  if (!options.memory.empty()) {
    GANDEM_ASSIGN_OR_RETURN(memory_bytes,
                            ParseBytes("--memory", options.memory));
  }
  KubernetesRun run = options.run;
  if (run.name.empty()) run.name = KubernetesName(launched.config.name());
  run.config = launched.text;
  run.is_plan = launched.candidate.has_value();
  run.train_arguments = launched.arguments;
  run.grace = absl::Seconds(launched.config.control().grace_seconds());
  AddWorkers(launched, memory_bytes, run);
  GANDEM_RETURN_IF_ERROR(CheckInPods(launched.config, options.flags.data, run));
  if (run.volume.claim.empty()) run.volume.claim = run.name + "-run";
  GANDEM_RETURN_IF_ERROR(CheckKubernetesRun(run));
  return run;
}

absl::Status LaunchKubernetes(const LaunchKubernetesOptions& options,
                              std::ostream& out) {
  GANDEM_ASSIGN_OR_RETURN(const KubernetesRun run, KubernetesRunOf(options));
  GANDEM_ASSIGN_OR_RETURN(const std::vector<ManifestFile> files,
                          RenderManifests(run));
  const std::string folder =
      options.output.empty() ? run.name + "-kubernetes" : options.output;
  if (!options.flags.dry_run || !options.output.empty()) {
    GANDEM_RETURN_IF_ERROR(WriteManifests(files, folder));
  }
  if (options.flags.dry_run) {
    for (const ManifestFile& file : files) {
      if (!options.output.empty()) {
        out << folder << "/" << file.name << "\n";
      } else if (file.name != "kustomization.yaml") {
        out << "---\n# " << file.name << "\n" << file.text;
      }
    }
    return absl::OkStatus();
  }
  out.flush();
  GANDEM_RETURN_IF_ERROR(CheckClaim(run));
  GANDEM_RETURN_IF_ERROR(Apply(run, folder));
  out << WhatNow(run, folder);
  return absl::OkStatus();
}

}  // namespace gandem
