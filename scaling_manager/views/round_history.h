// SPDX-License-Identifier: Apache-2.0
//
// All rounds of a run as its workers measured them, from RUN/metrics*.jsonl. Of
// a round that was done again the record with the highest run epoch counts.
//
// Owner: `gandem report`. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/round_times.h"
#include "proto/metrics.pb.h"
#include "scaling_manager/coordinator/worker_key.h"

namespace gandem {

// What one worker measured of one round.
struct RoundRecord {
  int64_t run_epoch = 0;
  int workers = 0;  // of the role; 0: a version of gandem that did not say
  int64_t images = 0;
  int64_t sync_bytes = 0;
  RoundTimes times = {};
};

// The record in a line of metrics, as far as it is shown anywhere. None: the
// line was cut short by a crash, or is of another version.
std::optional<RoundMetrics> ParseMetrics(absl::string_view line);

class RoundHistory {
 public:
  // By worker, then by round.
  using Rounds = std::map<WorkerKey, std::map<int64_t, RoundRecord>>;

  // Lines that are no records are counted.
  //   NOT_FOUND  the run has no metrics yet.
  static absl::StatusOr<RoundHistory> Read(const std::string& run_dir);

  void AddLine(absl::string_view line);

  const Rounds& rounds() const { return rounds_; }
  int64_t unreadable_lines() const { return unreadable_lines_; }

 private:
  Rounds rounds_;
  int64_t unreadable_lines_ = 0;
};

}  // namespace gandem
