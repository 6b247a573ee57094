// SPDX-License-Identifier: Apache-2.0
//
// A run as Prometheus' metrics: docs/watching.md lists them, and a test
// compares. Names and units are those of Prometheus' conventions: counters end
// in _total, times are seconds, memory is bytes.
//
// Thread safety: pure functions.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <vector>

#include "control_plane/monitoring/folder_facts.h"
#include "control_plane/monitoring/run_totals.h"
#include "proto/control.pb.h"

namespace gandem {

struct RunSnapshot {
  StatusReply status = {};
  RunTotals totals = {};
  FolderFacts folder = {};
  int64_t own_bytes = 0;  // resident memory of `gandem train`
};

// All of them, always in the same order; one that has no value yet is there
// without samples.
std::vector<prometheus::MetricFamily> RunMetrics(const RunSnapshot& run);

// As Prometheus reads it.
std::string MetricsText(const std::vector<prometheus::MetricFamily>& metrics);

}  // namespace gandem
