// SPDX-License-Identifier: Apache-2.0
//
// What a run knows of itself between two starts: its recipe, its counters, its
// workers and its failure, in run_dir/state/, and its newest checkpoint.
//
// Owner: `gandem train` writes, other commands read. Thread safety: one thread
// at a time.
// Errors: those of common/files/file.h.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_files.h"
#include "proto/checkpoint.pb.h"
#include "proto/config.pb.h"
#include "proto/control.pb.h"

namespace gandem {

// The effective recipe, in config.textproto.
//   NOT_FOUND         there is none: not the folder of a run.
//   INVALID_ARGUMENT  it is no recipe.
absl::StatusOr<RunConfig> ReadRunConfig(const std::string& run_dir);

// The run epoch, and who has which incarnation, in counters.textproto. A number
// is on disk before anybody hears of it, so that no later process can give an
// epoch out again, or take an old incarnation for the newest of its place.
// Zeros when there is no file.
//   DATA_LOSS  the file is no counters.
absl::StatusOr<RunCounters> ReadRunCounters(const std::string& run_dir);
absl::Status WriteRunCounters(const std::string& run_dir,
                              const RunCounters& counters);

// Who takes part, in workers.textproto: role, rank, host and process of each
// worker of the newest run epoch. No workers where there is no file.
//   INVALID_ARGUMENT  the file is no such thing.
absl::StatusOr<StatusReply> ReadRunWorkers(const std::string& run_dir);
absl::Status WriteRunWorkers(const std::string& run_dir,
                             const StatusReply& status);

// Why the newest `gandem train` failed, in failure.textproto: state and detail.
// State UNKNOWN: it did not, or it was killed.
//   INVALID_ARGUMENT  the file is no such thing.
absl::StatusOr<StatusReply> ReadRunFailure(const std::string& run_dir);
absl::Status WriteRunFailure(const std::string& run_dir,
                             const std::string& detail);
// Of an older start. OK where there is none.
absl::Status RemoveRunFailure(const std::string& run_dir);

// FindNewestCheckpoint, of step 0 and without a path where there is none.
absl::StatusOr<FoundCheckpoint> FindCheckpoint(const std::string& run_dir);

}  // namespace gandem
