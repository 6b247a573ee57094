// SPDX-License-Identifier: Apache-2.0
//
// Progress of a run: speed, losses and time left, as a bar or plain lines.
//
// Owner: `gandem train`. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "control_plane/views/recent_speeds.h"
#include "control_plane/views/record_order.h"
#include "proto/control.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

struct ProgressView {
  StatusReply status;  // with images_per_second and eta_seconds
  // Newest record of each role, with role 0 if there is none.
  RoundMetrics generator;
  RoundMetrics discriminator;
};

class ProgressTracker {
 public:
  // `images_per_round`: generated images that a round trains on.
  explicit ProgressTracker(int64_t images_per_round)
      : images_per_round_(images_per_round) {}

  void AddMetrics(const RoundMetrics& metrics);
  // Measures the speed; call it a few times a second.
  void Observe(absl::Time now, int64_t run_epoch, int64_t completed_rounds);
  // Fills images_per_second and eta_seconds (0: unknown), fleets and data.
  void Complete(StatusReply& status) const;
  ProgressView View(StatusReply status) const;
  // Returns new warnings about the health of training (RoundMetrics.health).
  std::vector<std::string> TakeWarnings();

 private:
  double RoundsPerSecond() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const int64_t images_per_round_;  // never changes after construction
  mutable absl::Mutex mu_;
  LeadingRanks leading_ ABSL_GUARDED_BY(mu_);
  RoundMetrics generator_ ABSL_GUARDED_BY(mu_);
  RoundMetrics discriminator_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mu_);
  RecentSpeeds speeds_ ABSL_GUARDED_BY(mu_);
  int64_t run_epoch_ ABSL_GUARDED_BY(mu_) = 0;
  // (time, completed rounds) of the last seconds, oldest first.
  std::deque<std::pair<absl::Time, int64_t>> seen_ ABSL_GUARDED_BY(mu_);
};

// Returns one line of at most `width` columns with the fields that fit.
std::string ProgressBar(const ProgressView& view, int width);

// Returns one line for a log.
std::string ProgressLine(const ProgressView& view);

// Returns a row of headings and a row for each fleet, or "" without fleets.
std::string FleetTable(const StatusReply& status);

}  // namespace gandem
