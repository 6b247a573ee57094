// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch kubernetes`: a recipe or a plan as a folder of manifests,
// which kubectl, found by PATH, gives to the cluster. docs/how_to/kubernetes.md
// is the page.
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
  LaunchFlags flags = {};   // data: as pods see it
  std::string output = {};  // folder; empty: NAME-kubernetes
  // "4GiB", of each worker; empty: the plan's, or none
  std::string memory = {};
  // As far as a user chooses it. No name: made of the recipe's; no claim:
  // NAME-run, with a storage class.
  KubernetesRun run = {};
};

// The run that is asked for; reads no more than the recipe.
//   those of files, recipes and plans; INVALID_ARGUMENT lists what Kubernetes
//   would not take, and what of the recipe cannot be in pods.
absl::StatusOr<KubernetesRun> KubernetesRunOf(
    const LaunchKubernetesOptions& options);

// Prints the manifests, or writes the folder, asks the cluster for what the run
// needs of it, and gives it the manifests.
//   NOT_FOUND            the claim is not in the cluster, or kubectl not here.
//   DEADLINE_EXCEEDED    kubectl does not end.
//   FAILED_PRECONDITION  the cluster refuses the manifests; kubectl has said
//                        why.
absl::Status LaunchKubernetes(const LaunchKubernetesOptions& options,
                              std::ostream& out);

}  // namespace gandem
