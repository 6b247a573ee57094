// SPDX-License-Identifier: Apache-2.0
//
// Measurements of a run's rounds from RUN/metrics*.jsonl. The highest run epoch
// counts if a round was repeated.
//
// Memory is bounded: a worker with more than kMaxRecords records merges
// neighbors of one run epoch, again and again.
//
// Owner: `gandem report` and similar readers. Thread safety: one thread.
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

// Measurements of a worker over rounds; images, bytes and times are sums.
struct RoundRecord {
  int64_t run_epoch = 0;
  int64_t first_round = 0;
  int64_t rounds = 1;  // measured rounds
  int workers = 0;     // of the role; 0: unknown (older gandem)
  int64_t images = 0;
  int64_t sync_bytes = 0;
  RoundTimes times = {};
  double one_round_seconds = 0;           // of the last round
  std::vector<GradientNoise> noise = {};  // of the last round with noise
  double unix_seconds = 0;                // of the last round
  // Means. NaN: unknown, or none was finite.
  float loss = 0;
  float loss_low = 0;  // the extremes
  float loss_high = 0;
  float logit_real = 0;  // both: discriminator only
  float logit_generated = 0;
  float ada_p = 0;  // both: with augmentation.ada only
  float ada_r_t = 0;
  float cache_fill = 0;  // fill of the cache of generated images; 1: full
  float lag = 0;
  float waiting_images = 0;  // real images that were ready in advance
};

// Rounds with records in a run epoch, including rounds repeated later.
struct EpochSpan {
  int64_t first_round = 0;
  int64_t last_round = 0;
  double first_unix_seconds = 0;  // both: of the first and last record
  double last_unix_seconds = 0;
};

// Parses a line of metrics written by ProtoJson(). Returns nothing for a line
// cut short by a crash or of another version.
std::optional<RoundMetrics> ParseRoundMetrics(absl::string_view line);

class RoundHistory {
 public:
  // By worker, then by last round of the record.
  using Rounds = std::map<WorkerKey, std::map<int64_t, RoundRecord>>;

  // Per worker; a page shows a few hundred points.
  static constexpr size_t kMaxRecords = 2048;

  explicit RoundHistory(size_t max_records = kMaxRecords)
      : max_records_(max_records) {}

  // Counts unparsable lines.
  //   NOT_FOUND  the run has no metrics, or no readable metrics
  static absl::StatusOr<RoundHistory> Read(const std::string& run_dir);

  void AddLine(absl::string_view line);

  const Rounds& rounds() const { return rounds_; }
  const std::map<int64_t, EpochSpan>& epochs() const { return epochs_; }
  int64_t unreadable_lines() const { return unreadable_lines_; }
  // Returns health warnings in the order of rounds, without duplicates.
  std::vector<std::string> warnings() const;

 private:
  void Add(const WorkerKey& worker, int64_t round, RoundRecord record);

  size_t max_records_;
  Rounds rounds_;
  std::map<WorkerKey, int64_t> per_record_;  // rounds; default 1
  std::map<int64_t, EpochSpan> epochs_;
  int64_t unreadable_lines_ = 0;
  std::set<std::pair<int64_t, std::string>> warnings_;  // round, text
};

}  // namespace gandem
