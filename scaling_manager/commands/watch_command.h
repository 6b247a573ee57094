// SPDX-License-Identifier: Apache-2.0
//
// `gandem watch-eval`: judges a run's checkpoints as they appear, one after the
// other, each by a process of its own (`evaluation_job evaluate`), and prints
// a table. A checkpoint that is due is kept at once in RUN/evaluation/snapshots
// (hard links), so that the training may prune it. All that it knows is in
// files: killed at any time and started again it goes on.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "proto/evaluation.pb.h"
#include "scaling_manager/commands/command_line.h"

namespace gandem {

// Returns the exit code. The table goes to `out`, errors to standard error.
int RunWatch(const WatchOptions& options, FILE* out);

// The table's row of a card, and the line above the first row and above each
// that has other metrics than the one before.
std::string TableHeader(const MetricCard& card);
std::string TableRow(const MetricCard& card);

}  // namespace gandem
