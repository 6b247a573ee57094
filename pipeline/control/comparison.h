// SPDX-License-Identifier: Apache-2.0
//
// The controller beside settings that never change, rules of others and what
// nobody could do better, on one trace.
//
// Owner: values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/control/controller.h"
#include "pipeline/control/pipeline_trace.h"
#include "pipeline/control/simulator.h"

namespace gandem {

struct ComparedRun {
  std::string name;
  SimulatedRun run;
};

struct PipelineComparison {
  // A grid of static settings, then the rules of others.
  std::vector<ComparedRun> others = {};
  // The static settings that lose the least time of all that take no more
  // memory on average than the controller; one decodes what it has at once, as
  // usual, and one as late as the controller does.
  ComparedRun best_static;
  ComparedRun best_late_static;
  SimulatedRun controller;
  double least_stall = 0;    // seconds; offline_optimum.h
  std::string warning = {};  // the controller's
};

// What a worker of the trace's job is given; memory_bytes > 0.
PipelineLimits LimitsOf(const PipelineJob& job, int64_t memory_bytes);

PipelineComparison ComparePipelines(const PipelineTrace& trace,
                                    int64_t memory_bytes);

}  // namespace gandem
