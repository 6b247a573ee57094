// SPDX-License-Identifier: Apache-2.0
//
// Report of a run's time, with the columns of published scaling studies.
//
// Shares are relative to the time of all counted rounds: computing, exposed
// communication and waits add up to 1. The warm-up of each run epoch is not
// counted, nor are rounds before a change of the numbers of workers.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/results/noise_rows.h"
#include "common/results/round_history.h"
#include "common/round_times.h"
#include "proto/control.pb.h"

namespace gandem {

// Warm-up rounds of a run epoch; limited to a fifth of all rounds.
inline constexpr int64_t kWarmUpRounds = 10;

struct TimeRow {
  int64_t rounds = 0;     // counted rounds, summed over the workers
  RoundTimes times = {};  // sums
  double images_per_second = 0;
  double median_round_seconds = 0;
  double p95_round_seconds = 0;     // nearest rank
  double sync_bytes_per_round = 0;  // sent by a worker
};

struct RankTimes {
  int rank = 0;
  TimeRow row = {};
  // Computes over 10 % longer per round than the fleet's median.
  bool is_straggler = false;
  double over_median = 0;  // 0.25: 25 % longer
};

struct RoleTimes {
  Role role = ROLE_UNKNOWN;
  int workers = 0;
  int hosts = 0;             // 0: unknown
  int64_t global_batch = 0;  // images of one update
  double epoch_seconds = 0;  // discriminator only; 0: unknown
  TimeRow row = {};          // all ranks
  std::vector<RankTimes> ranks = {};

  double batch_per_worker() const {
    return static_cast<double>(global_batch) / workers;
  }
};

struct TimeReport {
  std::string name = {};
  std::string run_dir = {};
  bool is_colocated = false;
  int64_t first_round = 0;  // first counted round
  int64_t last_round = 0;
  int64_t warm_up_rounds = 0;
  bool has_other_shapes = false;  // rounds before a change were left out
  int64_t unreadable_lines = 0;
  std::string fused_backward = {};    // of FUSED feedback, otherwise empty
  int64_t lag = 0;                    // of the schedule
  int hosts = 0;                      // of all workers; 0: unknown
  std::vector<RoleTimes> roles = {};  // generator, discriminator
  RoundTimes times = {};              // of all workers
  std::vector<NoiseRow> noise = {};
  std::vector<std::string> warnings = {};  // RoundHistory::warnings
};

struct RunFacts {
  std::string name = {};
  int64_t generator_batch = 0;  // images of one update
  int64_t discriminator_batch = 0;
  StatusReply workers = {};    // RunFolder::ReadWorkers()
  int64_t dataset_images = 0;  // 0: unknown
  std::string fused_backward = {};
  int64_t lag = 0;
};

//   FAILED_PRECONDITION  a role has no rounds yet
absl::StatusOr<TimeReport> MakeTimeReport(const RunFacts& facts,
                                          const RoundHistory& history);

// Returns how `run` scales from `first`: "S" (strong: equal global batches,
// other numbers of workers), "W" (weak: equal batches per worker), or "-".
std::string ScalingFrom(const TimeReport& first, const TimeReport& run);

}  // namespace gandem
