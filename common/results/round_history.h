// SPDX-License-Identifier: Apache-2.0
//
// All rounds of a run as its workers measured them, from RUN/metrics*.jsonl. Of
// a round that was done again the record with the highest run epoch counts.
//
// Owner: `gandem report` and what else looks back at a run. Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/worker_key.h"
#include "common/round_times.h"
#include "proto/metrics.pb.h"

namespace gandem {

// What one worker measured of one round.
struct RoundRecord {
  int64_t run_epoch = 0;
  int workers = 0;  // of the role; 0: a version of gandem that did not say
  int64_t images = 0;
  int64_t sync_bytes = 0;
  RoundTimes times = {};
  std::vector<GradientNoise> noise = {};
  double unix_seconds = 0;
  // NaN: it was not finite, or is not said.
  float loss = 0;
  float logit_real = 0;  // the discriminator's, and the next
  float logit_generated = 0;
  float ada_p = 0;  // with augmentation.ada, and the next
  float ada_r_t = 0;
  float cache_fill = 0;  // 1: the cache of generated images was full
  int32_t lag = 0;
  int32_t waiting_images = 0;  // real ones, made ready ahead of time
};

// What the records of a run epoch cover, those that were done again later
// included.
struct EpochSpan {
  int64_t first_round = 0;
  int64_t last_round = 0;
  double first_unix_seconds = 0;  // of the first and the last record
  double last_unix_seconds = 0;
};

// The record in a line of metrics, as far as it is shown anywhere. None: the
// line was cut short by a crash, or is of another version.
std::optional<RoundMetrics> ParseRoundMetrics(absl::string_view line);

class RoundHistory {
 public:
  // By worker, then by round.
  using Rounds = std::map<WorkerKey, std::map<int64_t, RoundRecord>>;

  // Lines that are no records are counted.
  //   NOT_FOUND  the run has no metrics yet, or none that can be read.
  static absl::StatusOr<RoundHistory> Read(const std::string& run_dir);

  void AddLine(absl::string_view line);

  const Rounds& rounds() const { return rounds_; }
  // By run epoch.
  const std::map<int64_t, EpochSpan>& epochs() const { return epochs_; }
  int64_t unreadable_lines() const { return unreadable_lines_; }

 private:
  Rounds rounds_;
  std::map<int64_t, EpochSpan> epochs_;
  int64_t unreadable_lines_ = 0;
};

}  // namespace gandem
