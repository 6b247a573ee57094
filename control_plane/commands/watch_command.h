// SPDX-License-Identifier: Apache-2.0
//
// `gandem watch-eval` evaluates the checkpoints of a run as they appear, one
// after the other, each in its own process (`evaluation_job evaluate`), and
// prints a line for each. It links a due checkpoint into
// RUN/evaluation/snapshots at once, so that training may prune the original.
// All its state is in files, so it can be killed and restarted at any time.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <cstdio>

#include "absl/status/status.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

// Prints results to `out`, and failures that are not fatal to stderr.
absl::Status RunWatch(const WatchOptions& options, FILE* out);

}  // namespace gandem
