// SPDX-License-Identifier: Apache-2.0
//
// The rounds of a run as its workers measured them, from RUN/metrics*.jsonl. Of
// a round that was done again the record with the highest run epoch counts.
//
// A run of a million rounds takes no more memory than one of a few thousand:
// once a worker has kMaxRecords, neighbors of one run epoch become one record,
// and again when there are as many.
//
// Owner: `gandem report` and what else looks back at a run. Thread safety: one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/worker_key.h"
#include "common/round_times.h"
#include "proto/metrics.pb.h"

namespace gandem {

// Measurements of one worker in one round, or in several from `first_round`:
// images, bytes and times are sums.
struct RoundRecord {
  int64_t run_epoch = 0;
  int64_t first_round = 0;
  int64_t rounds = 1;  // that were measured
  int workers = 0;     // of the role; 0: a version of gandem that did not say
  int64_t images = 0;
  int64_t sync_bytes = 0;
  RoundTimes times = {};
  double one_round_seconds = 0;           // of the last round
  std::vector<GradientNoise> noise = {};  // of the last that has some
  double unix_seconds = 0;                // of the last
  // Means. NaN: none was finite, or it is not said.
  float loss = 0;
  float loss_low = 0;  // the extremes
  float loss_high = 0;
  float logit_real = 0;  // the discriminator's, and the next
  float logit_generated = 0;
  float ada_p = 0;  // with augmentation.ada, and the next
  float ada_r_t = 0;
  float cache_fill = 0;  // 1: the cache of generated images was full
  float lag = 0;
  float waiting_images = 0;  // real ones, made ready ahead of time
};

// Rounds that the records of a run epoch cover, including rounds that were
// repeated later.
struct EpochSpan {
  int64_t first_round = 0;
  int64_t last_round = 0;
  double first_unix_seconds = 0;  // of the first and the last record
  double last_unix_seconds = 0;
};

// The record in a line of metrics, as ProtoJson() writes it. None: the line was
// cut short by a crash, or is of another version.
std::optional<RoundMetrics> ParseRoundMetrics(absl::string_view line);

class RoundHistory {
 public:
  // By worker, then by the last round of each record.
  using Rounds = std::map<WorkerKey, std::map<int64_t, RoundRecord>>;

  // Records of a worker; a page shows a few hundred points.
  static constexpr size_t kMaxRecords = 2048;

  explicit RoundHistory(size_t max_records = kMaxRecords)
      : max_records_(max_records) {}

  // Lines that are no records are counted.
  //   NOT_FOUND  the run has no metrics yet, or none that can be read.
  static absl::StatusOr<RoundHistory> Read(const std::string& run_dir);

  void AddLine(absl::string_view line);

  const Rounds& rounds() const { return rounds_; }
  // By run epoch.
  const std::map<int64_t, EpochSpan>& epochs() const { return epochs_; }
  int64_t unreadable_lines() const { return unreadable_lines_; }
  // Health warnings of the workers in the order of the rounds,
  // each once however often its round was done.
  std::vector<std::string> warnings() const;

 private:
  // A worker's record of round `round`.
  void Add(const WorkerKey& worker, int64_t round, RoundRecord record);

  size_t max_records_;
  Rounds rounds_;
  std::map<WorkerKey, int64_t> per_record_;  // rounds; 1 where there is none
  std::map<int64_t, EpochSpan> epochs_;
  int64_t unreadable_lines_ = 0;
  std::set<std::pair<int64_t, std::string>> warnings_;  // round, text
};

}  // namespace gandem
