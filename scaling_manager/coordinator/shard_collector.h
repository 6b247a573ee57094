// SPDX-License-Identifier: Apache-2.0
//
// What the workers have reported about the checkpoints that are being written:
// a checkpoint is complete when every worker has reported its files.
//
// Owner: the coordinator, one per run epoch.
// Thread safety: one thread at a time.
// Errors: INVALID_ARGUMENT, and nothing changed: the report makes no sense.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/control.pb.h"

namespace gandem {

class ShardCollector {
 public:
  enum class State {
    kIncomplete,  // other workers have not reported yet
    kComplete,    // all have; Files() lists what they wrote
    kFailed,      // all have, at least one an error; Error() is the first
  };

  // Of a run with `num_workers` workers and `rounds` rounds.
  explicit ShardCollector(int num_workers = 0, int64_t rounds = 0)
      : num_workers_(num_workers), rounds_(rounds) {}

  // A repeated report replaces the one before.
  absl::StatusOr<State> Add(int worker, const ShardReport& report);

  // Of a step that was reported. Sorted by name.
  std::vector<CheckpointFile> Files(int64_t step) const;
  // Has a worker reported an error? Its text, else empty.
  std::string Error(int64_t step) const;

  // The step is settled, and with it all before: workers report in ascending
  // order.
  void Settle(int64_t step);

 private:
  using Reports = std::map<int, ShardReport>;  // by worker

  absl::Status Check(int worker, const ShardReport& report) const;

  int num_workers_;
  int64_t rounds_;
  std::map<int64_t, Reports> steps_;
};

}  // namespace gandem
