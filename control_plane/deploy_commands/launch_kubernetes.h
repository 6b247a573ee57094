// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch kubernetes` writes a recipe or a plan as a folder of manifests
// and applies them with the kubectl of PATH (docs/how_to/kubernetes.md).
//
// Owner: the program. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control_plane/deploy_commands/launched_recipe.h"
#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

struct LaunchKubernetesOptions {
  LaunchFlags flags = {};   // data: the path inside the pods
  std::string output = {};  // folder; empty: NAME-kubernetes
  // Memory limit per worker, for example "4GiB". Empty: the plan's, or none.
  std::string memory = {};
  // Settings that the user chooses. An empty name is derived from the recipe's
  // name. With a storage class, an empty claim becomes NAME-run.
  KubernetesRun run = {};
};

// Describes the run. Reads no files except the recipe. Returns errors of files,
// recipes and plans, and
//   INVALID_ARGUMENT  lists values that Kubernetes would reject, and fields of
//       the recipe that do not work in pods
absl::StatusOr<KubernetesRun> KubernetesRunOf(
    const LaunchKubernetesOptions& options);

// Prints the manifests, or writes the folder, checks that the cluster has the
// claim, and applies the manifests.
//   NOT_FOUND  the cluster lacks the claim, or PATH lacks kubectl
//   DEADLINE_EXCEEDED  kubectl does not end
//   FAILED_PRECONDITION  the cluster rejects the manifests; kubectl has printed
//       the reason
absl::Status LaunchKubernetes(const LaunchKubernetesOptions& options,
                              std::ostream& out);

}  // namespace gandem
