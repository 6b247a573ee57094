// SPDX-License-Identifier: Apache-2.0
//
// Rules of others for reading ahead, to compare the controller with in the
// simulator. Neither knows of memory or processors more than its limits: all
// is decoded as it comes.
//
// Owner: the caller. Thread safety: one thread per rule.
#pragma once

#include "pipeline/control/controller.h"
#include "pipeline/control/simulator.h"

namespace gandem {

struct PipelineBaseline {
  PipelineSetting first;
  PipelineRule rule;
};

// A hill climb in the manner of tf.data's AUTOTUNE (Murray et al., "tf.data: A
// machine learning data processing framework", VLDB 2021, section 4.3), on the
// measured stall where tf.data has a model: once a second in which the trainer
// waited, one of the numbers of fetches and workers goes up; it stays if the
// stall shrank, else the other has its turn. The buffer begins with two batches
// and doubles when it was empty after it had been full (its prefetch).
PipelineBaseline HillClimb(const PipelineLimits& limits);

// Fetches as xet-core has connections (its adaptive_concurrency, 2025): a
// transfer is on time if it took no longer than an online linear regression of
// seconds on bytes x connections says, by its 80 % quantile. Where more than
// 80 % of late were, one connection is added; below 50 % one goes; half a
// second lies between two changes. All of the memory, and all workers.
PipelineBaseline OnTimeRule(const PipelineLimits& limits);

}  // namespace gandem
