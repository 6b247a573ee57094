// SPDX-License-Identifier: Apache-2.0
//
// The Job of one process of a run, as YAML.
//
// Thread safety: pure functions. The run has been checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

// Labels that all objects of the run have, so many spaces deep, a line each.
std::string RunLabels(const KubernetesRun& run, int indent);

// What a pod listens at, by the names that Services and probes use.
using NamedPorts = std::vector<std::pair<std::string, int>>;
NamedPorts CoordinatorPorts(const KubernetesRun& run);

struct PodJob {
  std::string pod;
  std::string component;  // "coordinator", "generator" ...
  std::string spec;       // of a Job, two spaces deep
};
PodJob CoordinatorJob(const KubernetesRun& run);
PodJob WorkerJob(const KubernetesRun& run, const KubernetesWorker& worker);

// RunLabels and whose Job it is.
std::string JobLabels(const KubernetesRun& run, const PodJob& job, int indent);
// The Job alone.
std::string JobText(const KubernetesRun& run, const PodJob& job);

}  // namespace gandem
