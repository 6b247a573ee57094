// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/manifests.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "deploy/kubernetes/pod_text.h"
#include "deploy/kubernetes/yaml_text.h"
#include "deploy/text_template.h"

namespace gandem {

// Files of templates/, embedded by the build.
namespace internal {
extern const std::span<const unsigned char> kDisruptionBudgetYaml;
extern const std::span<const unsigned char> kKustomizationYaml;
extern const std::span<const unsigned char> kNetworkPolicyYaml;
extern const std::span<const unsigned char> kRecipeYaml;
extern const std::span<const unsigned char> kServiceYaml;
extern const std::span<const unsigned char> kVolumeYaml;
}  // namespace internal

namespace {

constexpr char kSeparator[] = "---\n";

std::string RecipeText(const KubernetesRun& run) {
  const std::string data =
      absl::StrCat(run.is_plan ? "plan.textproto:" : "recipe.textproto:",
                   YamlLines(run.config));
  return FillIn(internal::kRecipeYaml, {{"run", run.name}, {"data", data}});
}

std::string VolumeText(const KubernetesRun& run) {
  return FillIn(internal::kVolumeYaml,
                {{"run", run.name},
                 {"claim", run.volume.claim},
                 {"namespace", run.name_space},
                 {"storage_class", YamlQuoted(run.volume.storage_class)},
                 {"size", run.volume.size}});
}

// Makes the Service that resolves the coordinator's name, even before its pod
// is ready. Workers need no Service, because they register their addresses.
std::string ServiceText(const KubernetesRun& run) {
  std::string ports;
  for (const auto& [name, port] : CoordinatorPorts(run)) {
    absl::StrAppend(&ports, "- name: ", name, "\n  port: ", port, "\n");
  }
  return FillIn(
      internal::kServiceYaml,
      {{"run", run.name}, {"pod", CoordinatorName(run)}, {"ports", ports}});
}

// The location of the cluster's Prometheus is unknown, so all pods of the
// cluster may connect to the metrics port, at which only the coordinator
// listens.
std::string NetworkPolicyText(const KubernetesRun& run) {
  return FillIn(
      internal::kNetworkPolicyYaml,
      {{"run", run.name},
       {"control_port", absl::StrCat(kControlPort)},
       {"exchange_port", absl::StrCat(kExchangePort)},
       {"fleet_port", absl::StrCat(kFleetPort)},
       {"metrics_port",
        run.metrics_port.has_value() ? absl::StrCat(*run.metrics_port) : ""}});
}

// A budget for pods of Jobs supports only minAvailable, not maxUnavailable.
std::string DisruptionBudgetText(const KubernetesRun& run) {
  return FillIn(
      internal::kDisruptionBudgetYaml,
      {{"run", run.name}, {"workers", absl::StrCat(run.workers.size())}});
}

std::string WorkersText(const KubernetesRun& run, Role role) {
  std::string text;
  for (const KubernetesWorker& worker : run.workers) {
    if (worker.role != role) continue;
    absl::StrAppend(&text, text.empty() ? "" : kSeparator,
                    WorkerJob(run, worker));
  }
  return text;
}

std::vector<ManifestFile> JobFiles(const KubernetesRun& run) {
  std::vector<ManifestFile> files = {{"coordinator.yaml", CoordinatorJob(run)}};
  for (const auto& [name, role] :
       {std::pair("generators.yaml", GENERATOR),
        std::pair("discriminators.yaml", DISCRIMINATOR),
        std::pair("colocated.yaml", COLOCATED)}) {
    std::string text = WorkersText(run, role);
    if (!text.empty()) files.push_back({name, std::move(text)});
  }
  return files;
}

std::string KustomizationText(const KubernetesRun& run,
                              const std::vector<ManifestFile>& files) {
  std::string names;
  for (const ManifestFile& file : files) {
    absl::StrAppend(&names, "- ", file.name, "\n");
  }
  return FillIn(internal::kKustomizationYaml,
                {{"namespace", run.name_space}, {"files", names}});
}

}  // namespace

std::string RunFolderInPod(const KubernetesRun& run) {
  return absl::StrCat(kVolumePath, "/runs/", run.name);
}

absl::StatusOr<std::vector<ManifestFile>> RenderManifests(
    const KubernetesRun& run) {
  GANDEM_RETURN_IF_ERROR(CheckKubernetesRun(run));
  std::vector<ManifestFile> files = {{"recipe.yaml", RecipeText(run)}};
  files.push_back({"services.yaml", ServiceText(run)});
  for (ManifestFile& file : JobFiles(run)) files.push_back(std::move(file));
  files.push_back({"network_policy.yaml", NetworkPolicyText(run)});
  files.push_back({"disruption_budget.yaml", DisruptionBudgetText(run)});
  files.insert(files.begin(),
               {"kustomization.yaml", KustomizationText(run, files)});
  if (!run.volume.storage_class.empty()) {
    files.push_back({kVolumeFile, VolumeText(run)});
  }
  return files;
}

}  // namespace gandem
