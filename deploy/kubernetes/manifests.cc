// SPDX-License-Identifier: Apache-2.0
#include "deploy/kubernetes/manifests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "deploy/kubernetes/jobset_text.h"
#include "deploy/kubernetes/pod_text.h"
#include "deploy/kubernetes/yaml_text.h"

namespace gandem {
namespace {

constexpr char kSeparator[] = "---\n";

std::string Metadata(const KubernetesRun& run, const std::string& name) {
  return absl::StrCat("metadata:\n  name: ", name, "\n  labels:\n",
                      RunLabels(run, 4));
}

std::string Selector(const KubernetesRun& run) {
  return absl::StrCat("    matchLabels:\n      gandem/run: ", run.name, "\n");
}

std::string RecipeText(const KubernetesRun& run) {
  return absl::StrCat("apiVersion: v1\nkind: ConfigMap\n",
                      Metadata(run, run.name + "-recipe"), "data:\n  ",
                      run.is_plan ? "plan.textproto:" : "recipe.textproto:",
                      YamlLines(run.config, /*indent=*/2));
}

std::string VolumeText(const KubernetesRun& run) {
  return absl::StrCat(
      "# Made once, and left by `kubectl delete -k`: it has the checkpoints.\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\n",
      Metadata(run, run.volume.claim), "  namespace: ", run.name_space, "\n",
      "spec:\n"
      "  # All pods write into the run folder, whatever node they are on.\n"
      "  accessModes: [\"ReadWriteMany\"]\n"
      "  storageClassName: ",
      YamlQuoted(run.volume.storage_class),
      "\n  resources:\n    requests:\n      storage: ", run.volume.size, "\n");
}

// Its name leads to its address, also before it is ready.
std::string ServiceText(const KubernetesRun& run, const std::string& pod,
                        const NamedPorts& ports) {
  std::string text = absl::StrCat(
      "apiVersion: v1\nkind: Service\n", Metadata(run, pod),
      "spec:\n  clusterIP: None\n  publishNotReadyAddresses: true\n",
      "  selector:\n    gandem/pod: ", pod, "\n  ports:\n");
  for (const auto& [name, port] : ports) {
    absl::StrAppend(&text, "    - name: ", name, "\n      port: ", port, "\n");
  }
  return text;
}

// Workers that are not asked for by name tell their address when they register.
std::string ServicesText(const KubernetesRun& run) {
  std::string text =
      ServiceText(run, CoordinatorName(run), CoordinatorPorts(run));
  if (run.secret.empty()) return text;
  for (const KubernetesWorker& worker : run.workers) {
    NamedPorts ports = {{"fleet", kFleetPort}};
    if (worker.role == DISCRIMINATOR) {
      ports.insert(ports.begin(), {"exchange", kExchangePort});
    }
    absl::StrAppend(&text, kSeparator,
                    ServiceText(run, PodName(run, worker), ports));
  }
  return text;
}

// Nobody knows where the cluster's Prometheus is. No other pod of the run
// listens at this port.
std::string MetricsRule(int port) {
  return absl::StrCat(
      "    # All pods of the cluster read the metrics.\n"
      "    - from:\n        - namespaceSelector: {}\n      ports:\n"
      "        - protocol: TCP\n          port: ",
      port, "\n");
}

std::string NetworkPolicyText(const KubernetesRun& run) {
  std::string text = absl::StrCat(
      "# Nobody but the pods of the run connects to them. They themselves may\n"
      "# connect to anything: names, datasets, the volume.\n"
      "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n",
      Metadata(run, run.name), "spec:\n  podSelector:\n", Selector(run),
      "  policyTypes: [\"Ingress\"]\n  ingress:\n    - from:\n",
      "        - podSelector:\n            matchLabels:\n",
      "              gandem/run: ", run.name, "\n      ports:\n");
  for (const int port : {kControlPort, kExchangePort, kFleetPort}) {
    absl::StrAppend(&text, "        - protocol: TCP\n          port: ", port,
                    "\n");
  }
  if (run.metrics_port.has_value()) text += MetricsRule(*run.metrics_port);
  return text;
}

// Of Jobs it counts pods that have to be left, not those that may be missing.
std::string DisruptionBudgetText(const KubernetesRun& run) {
  return absl::StrCat(
      "# `kubectl drain` takes one pod of the run at a time.\n"
      "apiVersion: policy/v1\nkind: PodDisruptionBudget\n",
      Metadata(run, run.name), "spec:\n  minAvailable: ", run.workers.size(),
      "\n  selector:\n", Selector(run));
}

std::string WorkersText(const KubernetesRun& run, Role role) {
  std::string text;
  for (const KubernetesWorker& worker : run.workers) {
    if (worker.role != role) continue;
    absl::StrAppend(&text, text.empty() ? "" : kSeparator,
                    JobText(run, WorkerJob(run, worker)));
  }
  return text;
}

std::vector<ManifestFile> JobFiles(const KubernetesRun& run) {
  if (run.as_jobset) return {{"jobset.yaml", JobSetText(run)}};
  std::vector<ManifestFile> files = {
      {"coordinator.yaml", JobText(run, CoordinatorJob(run))}};
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
  std::string text = absl::StrCat(
      "# Made by `gandem launch kubernetes`: kubectl apply -k . starts the\n"
      "# run, or goes on with it; kubectl delete -k . stops it with a\n"
      "# checkpoint. Changes of your own belong into an overlay\n"
      "# (docs/kubernetes.md).\n"
      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
      "namespace: ",
      run.name_space, "\nresources:\n");
  for (const ManifestFile& file : files) {
    absl::StrAppend(&text, "  - ", file.name, "\n");
  }
  return text;
}

}  // namespace

std::string RunFolderInPod(const KubernetesRun& run) {
  return absl::StrCat(kVolumePath, "/runs/", run.name);
}

absl::StatusOr<std::vector<ManifestFile>> RenderManifests(
    const KubernetesRun& run) {
  GANDEM_RETURN_IF_ERROR(CheckKubernetesRun(run));
  std::vector<ManifestFile> files = {{"recipe.yaml", RecipeText(run)}};
  files.push_back({"services.yaml", ServicesText(run)});
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
