// SPDX-License-Identifier: Apache-2.0
//
// `gandem train` hosts the Control service, starts the workers, shows progress
// and exits with the run. Order of shutdown: the workers exit (or are killed),
// the server stops, the last metrics are written, the lock is released.
//
// Owner: main(). Thread safety: the main thread, with the signals of
// kTrainSignals blocked in all threads.
#pragma once

#include <signal.h>

#include <initializer_list>

#include "absl/status/statusor.h"
#include "control_plane/command_line/command_line.h"

namespace gandem {

inline constexpr std::initializer_list<int> kTrainSignals = {SIGINT, SIGTERM,
                                                             SIGHUP};

// Returns the exit code. Prints progress to `out`; never waits for a reader.
absl::StatusOr<int> RunTrain(const TrainOptions& options, int out);

}  // namespace gandem
