// SPDX-License-Identifier: Apache-2.0
//
// Makes the Kubernetes manifests of a run: a folder for `kubectl apply -k`,
// which overlays of kustomize can change.
//
// Each process is a Job of one pod. Kubernetes restarts a process that dies, on
// another node if its node is gone, but not a process that succeeds. So nothing
// runs after the end of a run. Job names of workers contain the rank.
//
// Thread safety: pure functions.
// Errors: those of CheckKubernetesRun.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

struct ManifestFile {
  std::string name;
  std::string text;
};

// Mount path, in every pod, of the volume with the run folder.
inline constexpr char kVolumePath[] = "/gandem";
std::string RunFolderInPod(const KubernetesRun& run);

// File of a new volume claim. kustomization.yaml does not list it, so that
// deleting the run keeps its checkpoints.
inline constexpr char kVolumeFile[] = "volume.yaml";

// Returns all files. The first one, kustomization.yaml, names the others.
absl::StatusOr<std::vector<ManifestFile>> RenderManifests(
    const KubernetesRun& run);

}  // namespace gandem
