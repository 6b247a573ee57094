// SPDX-License-Identifier: Apache-2.0
//
// The run epoch and incarnation counters of a run, in
// run_dir/state/counters.textproto. A number is on disk before anybody hears
// of it, so that no later process can give it out again.
//
// Owner: the coordinator. Thread safety: one thread at a time.
// Errors: those of common/files/file.h; DATA_LOSS for a file that is no
// counters.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace gandem {

// Zeros when there is no file.
absl::StatusOr<RunCounters> ReadRunCounters(const std::string& run_dir);

absl::Status WriteRunCounters(const std::string& run_dir,
                              const RunCounters& counters);

}  // namespace gandem
