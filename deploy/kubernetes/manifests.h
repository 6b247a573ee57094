// SPDX-License-Identifier: Apache-2.0
//
// A run as plain manifests, a folder that `kubectl apply -k` takes and that is
// a kustomize base for changes of a cluster's own.
//
// Each process is a Job of one pod. A process that succeeds is not started
// again; a process that dies is restarted, on another node if its own is gone.
// At the end of a run nothing is left to stop. The name of a worker's Job has
// its rank, because a rank is a place that its newest process takes over
// (design.md section 8).
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

// Path of the volume in every pod. The run folder is below it.
inline constexpr char kVolumePath[] = "/gandem";
std::string RunFolderInPod(const KubernetesRun& run);

// File of the claim to create. kustomization.yaml does not list it, so that
// deleting the run keeps its checkpoints.
inline constexpr char kVolumeFile[] = "volume.yaml";

// The first file is kustomization.yaml, which names the others.
absl::StatusOr<std::vector<ManifestFile>> RenderManifests(
    const KubernetesRun& run);

}  // namespace gandem
