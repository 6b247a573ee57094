// SPDX-License-Identifier: Apache-2.0
//
// The Job of one process of a run, as YAML.
//
// Thread safety: pure functions. The run has been checked.
#pragma once

#include <string>

#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

// Labels that all objects of the run have, so many spaces deep, a line each.
std::string RunLabels(const KubernetesRun& run, int indent);

std::string CoordinatorJob(const KubernetesRun& run);
std::string WorkerJob(const KubernetesRun& run, const KubernetesWorker& worker);

}  // namespace gandem
