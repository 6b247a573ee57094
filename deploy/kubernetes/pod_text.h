// SPDX-License-Identifier: Apache-2.0
//
// Makes the Job of one process of a run as YAML.
//
// Thread safety: pure functions. The run must have passed CheckKubernetesRun.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

// Ports of a pod, with their names for Services and probes.
using NamedPorts = std::vector<std::pair<std::string, int>>;
NamedPorts CoordinatorPorts(const KubernetesRun& run);

std::string CoordinatorJob(const KubernetesRun& run);
std::string WorkerJob(const KubernetesRun& run, const KubernetesWorker& worker);

}  // namespace gandem
