// SPDX-License-Identifier: Apache-2.0
//
// The Jobs of a run as one JobSet (jobset.x-k8s.io/v1alpha2), for clusters that
// have its controller: what becomes of the run when a Job has failed is said by
// role, and when the coordinator is done all is.
//
// Its Jobs are those of pod_text.h, a replicatedJob each, so that the pods keep
// their names.
//
// Thread safety: pure functions. The run has been checked.
#pragma once

#include <string>

#include "deploy/kubernetes/kubernetes_run.h"

namespace gandem {

std::string JobSetText(const KubernetesRun& run);

}  // namespace gandem
