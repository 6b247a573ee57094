// SPDX-License-Identifier: Apache-2.0
//
// Report of a run's time, with the columns of published scaling studies.
//
// Shares are of the time of all rounds that count: computing, exposed
// communication and the waits add up to 1. The first rounds of each run epoch
// do not count (warm-up), nor do rounds from before the numbers of workers
// changed.
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

// Rounds at the start of a run epoch that do not count, at most a fifth of all.
inline constexpr int64_t kWarmUpRounds = 10;

// Times of one worker, or of several together.
struct TimeRow {
  int64_t rounds = 0;     // that count, added over the workers
  RoundTimes times = {};  // sums
  double images_per_second = 0;
  double median_round_seconds = 0;
  double p95_round_seconds = 0;     // nearest rank
  double sync_bytes_per_round = 0;  // sent by a worker
};

struct RankTimes {
  int rank = 0;
  TimeRow row = {};
  // Computes more than 10 % longer a round than the median of its fleet.
  bool is_straggler = false;
  double over_median = 0;  // 0.25: 25 % longer
};

struct RoleTimes {
  Role role = ROLE_UNKNOWN;
  int workers = 0;
  int hosts = 0;             // 0: unknown
  int64_t global_batch = 0;  // images of an update
  double epoch_seconds = 0;  // discriminator; 0: unknown
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
  int64_t first_round = 0;  // that counts
  int64_t last_round = 0;
  int64_t warm_up_rounds = 0;
  bool has_other_shapes = false;  // rounds from before a change were left out
  int64_t unreadable_lines = 0;
  std::string fused_backward = {};    // of FUSED feedback; else empty
  int64_t lag = 0;                    // of the schedule
  int hosts = 0;                      // of all workers; 0: unknown
  std::vector<RoleTimes> roles = {};  // generator, discriminator
  RoundTimes times = {};              // of all workers
  std::vector<NoiseRow> noise = {};
  std::vector<std::string> warnings = {};  // RoundHistory::warnings
};

struct RunFacts {
  std::string name = {};
  int64_t generator_batch = 0;  // images of an update
  int64_t discriminator_batch = 0;
  StatusReply workers = {};    // RunFolder::ReadWorkers()
  int64_t dataset_images = 0;  // 0: unknown
  std::string fused_backward = {};
  int64_t lag = 0;
};

//   FAILED_PRECONDITION  one of the roles has no round yet.
absl::StatusOr<TimeReport> MakeTimeReport(const RunFacts& facts,
                                          const RoundHistory& history);

// How `run` scales from `first`: "S" (strong: the same global batches on other
// numbers of workers), "W" (weak: the same batches per worker), or "-".
std::string ScalingFrom(const TimeReport& first, const TimeReport& run);

}  // namespace gandem
