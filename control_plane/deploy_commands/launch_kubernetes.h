// SPDX-License-Identifier: Apache-2.0
//
// `gandem launch kubernetes`: a recipe or a plan as a folder of manifests,
// which kubectl, found by PATH, gives to the cluster. docs/kubernetes.md is the
// page.
//
// Owner: the program. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

struct LaunchKubernetesOptions {
  std::string recipe = {};  // or a plan: a file
  std::string data = {};    // as pods see it; empty: the recipe's images
  std::vector<std::string> sets = {};  // "path.to.field=value"
  int candidate = 1;                   // of a plan
  bool dry_run = false;                // print the manifests, ask no cluster
  std::string output = {};             // folder; empty: NAME-kubernetes
  std::string name = {};               // empty: made of the recipe's
  std::string name_space = "default";
  std::string image = {};
  std::string pvc = {};            // empty: NAME-run, with a storage class
  std::string storage_class = {};  // empty: the claim exists
  std::string storage_size = "50Gi";
  std::string memory =
      {};  // "4GiB", of each worker; empty: the plan's, or none
  std::optional<int> metrics_port = {};  // for Prometheus
  std::string log_format = "text";       // or "json"
  bool jobset = false;                   // one JobSet in place of the Jobs
};

// The run that is asked for; reads no more than the recipe.
//   those of files, recipes and plans; INVALID_ARGUMENT lists what Kubernetes
//   would not take, and what of the recipe cannot be in pods.
absl::StatusOr<KubernetesRun> KubernetesRunOf(
    const LaunchKubernetesOptions& options);

// Prints the manifests, or writes the folder, asks the cluster for what the run
// needs of it, and gives it the manifests.
//   UNAVAILABLE          the cluster does not answer, or not to this user.
//   NOT_FOUND            the claim or the kind JobSet is not in the cluster, or
//                        there is no kubectl.
//   DEADLINE_EXCEEDED    kubectl does not end.
//   FAILED_PRECONDITION  the cluster refuses the manifests; kubectl has said
//                        why.
absl::Status LaunchKubernetes(const LaunchKubernetesOptions& options,
                              std::ostream& out);

}  // namespace gandem
