// SPDX-License-Identifier: Apache-2.0
//
// The Prometheus metrics of a run. docs/how_to/monitoring.md lists them, and a
// test compares the list. Names and units follow Prometheus' conventions:
// counters end in _total, times are in seconds, memory is in bytes.
//
// Thread safety: pure functions, except for reading the folder.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "control_plane/monitoring/run_totals.h"
#include "proto/control.pb.h"

namespace gandem {

// Facts about a run folder. Facts that cannot be read are unset.
struct FolderFacts {
  std::optional<int64_t> free_bytes = {};  // for users who are not root
  std::optional<int64_t> size_bytes = {};  // of the disk
  // Time at which the newest checkpoint was completed.
  std::optional<absl::Time> checkpoint_time = {};
};
// Reads the facts. `checkpoint_step`: rounds of the newest checkpoint, or 0.
FolderFacts ReadFolderFacts(const std::string& run_dir,
                            int64_t checkpoint_step);

struct RunSnapshot {
  StatusReply status = {};
  RunTotals totals = {};
  FolderFacts folder = {};
  int64_t own_bytes = 0;  // resident memory of `gandem train`
};

// Returns all metrics in a fixed order. Unknown metrics have no samples.
std::vector<prometheus::MetricFamily> RunMetrics(const RunSnapshot& run);

}  // namespace gandem
