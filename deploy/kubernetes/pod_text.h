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

// Ports that a pod listens at, with the names that Services and probes use.
using NamedPorts = std::vector<std::pair<std::string, int>>;
NamedPorts CoordinatorPorts(const KubernetesRun& run);

std::string CoordinatorJob(const KubernetesRun& run);
std::string WorkerJob(const KubernetesRun& run, const KubernetesWorker& worker);

}  // namespace gandem
