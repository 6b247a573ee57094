// SPDX-License-Identifier: Apache-2.0
//
// `gandem watch-eval`: judges a run's checkpoints as they appear, one after the
// other, each by a process of its own (`evaluation_job evaluate`), and prints
// a line for each. A checkpoint that is due is kept at once in
// RUN/evaluation/snapshots (hard links), so that the training may prune it. All
// that it knows is in files: killed at any time and started again it goes on.
//
// Owner: main(). Thread safety: the main thread.
#pragma once

#include <cstdio>

#include "absl/status/status.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

// The lines go to `out`, what does not end the command to standard error.
absl::Status RunWatch(const WatchOptions& options, FILE* out);

}  // namespace gandem
