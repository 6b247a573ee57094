// SPDX-License-Identifier: Apache-2.0
//
// End of a run. To stop a run early, the coordinator tells all workers to
// pause. The cut is the last round that any worker has started, or the next
// round at which a checkpoint is possible. All workers run exactly to the cut,
// and the checkpoint of the cut ends the run. Without a stop, the checkpoint of
// the last round ends the run.
//
// Owner: the coordinator. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/process/exit_code.h"
#include "control_plane/coordinator/checkpoint_commits.h"
#include "control_plane/coordinator/membership.h"
#include "proto/control.pb.h"

namespace gandem {

struct RunOutcome {
  StatusReply::State state = StatusReply::UNKNOWN;  // FINISHED, STOPPED or
                                                    // FAILED
  int exit_code = kExitOk;
  std::string detail;
  // Whether every registered worker has been told that the run is over.
  bool is_known_to_all = false;
};

RunOutcome FinishedOutcome(int64_t rounds);
// Returns the outcome of a run that can resume from its newest checkpoint.
RunOutcome ResumableOutcome(const std::string& why,
                            const CheckpointCommits& commits);

class Stopping {
 public:
  struct Options {
    int64_t rounds = 0;  // required, >= 1
    // Checkpoints are possible only at multiples of this number of rounds.
    int64_t rounds_to_agreement = 1;
    // Maximum time from the request to stop until the checkpoint of the cut.
    absl::Duration grace = absl::Seconds(30);
  };

  explicit Stopping(const Options& options) : options_(options) {}

  // Requests a stop. The grace period starts with the first request. If the run
  // could not stop then, the period restarts with `begins`, when it can.
  void Request(const std::string& reason, bool begins, absl::Time now);
  const std::string& reason() const { return reason_; }  // empty: no request
  bool IsLate(absl::Time now) const {
    return !reason_.empty() && now > deadline_;
  }

  // Decides the cut once all members have paused. Returns true when it does so.
  bool DecideCut(const std::vector<Place>& places);
  std::optional<int64_t> cut() const { return cut_; }
  // Returns the number of rounds of the checkpoint that ends the run.
  int64_t goal() const {
    return cut_.has_value() ? *cut_ + 1 : options_.rounds;
  }

  // Returns the outcome once all members have done their part.
  std::optional<RunOutcome> Judge(const std::vector<Place>& places,
                                  const CheckpointCommits& commits) const;

  // Sets the text that Detail() returns until the run ends.
  void NoteFailure(std::string failure) { last_failure_ = std::move(failure); }
  const std::string& Detail() const;

  // Sets the outcome; later calls have no effect.
  void End(RunOutcome outcome);
  const std::optional<RunOutcome>& outcome() const { return outcome_; }

 private:
  const Options options_;
  std::string reason_;
  absl::Time deadline_ = absl::InfiniteFuture();
  std::optional<int64_t> cut_;
  std::string last_failure_;
  std::optional<RunOutcome> outcome_;
};

}  // namespace gandem
