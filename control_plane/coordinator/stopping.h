// SPDX-License-Identifier: Apache-2.0
//
// How a run ends. To stop, every worker is told to pause; the cut is the last
// round that any of them has started, or the next one at which a checkpoint can
// be taken; all run exactly to it, and the checkpoint there ends the run. Else
// the last round's does.
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

// How a run ended.
struct RunOutcome {
  StatusReply::State state = StatusReply::UNKNOWN;  // one of the last three
  int exit_code = kExitOk;
  std::string detail;
  // Every registered worker has been told that the run is over.
  bool is_known_to_all = false;
};

// All rounds are done.
RunOutcome FinishedOutcome(int64_t rounds);
// The same command goes on from the newest checkpoint.
RunOutcome ResumableOutcome(const std::string& why,
                            const CheckpointCommits& commits);

class Stopping {
 public:
  struct Options {
    int64_t rounds = 0;  // required, >= 1
    // A checkpoint can be taken after multiples of so many rounds only.
    int64_t rounds_to_agreement = 1;
    // From the wish to stop to its checkpoint.
    absl::Duration grace = absl::Seconds(30);
  };

  explicit Stopping(const Options& options) : options_(options) {}

  // Somebody wants the run to stop. The grace starts with the first wish, and
  // once more when a run `begins` to stop that could not before.
  void Request(const std::string& reason, bool begins, absl::Time now);
  const std::string& reason() const { return reason_; }  // empty: no wish
  bool IsLate(absl::Time now) const {
    return !reason_.empty() && now > deadline_;
  }

  // All members have paused: decides the cut. True once.
  bool DecideCut(const std::vector<Place>& places);
  std::optional<int64_t> cut() const { return cut_; }
  // The checkpoint that ends the run has so many rounds.
  int64_t goal() const {
    return cut_.has_value() ? *cut_ + 1 : options_.rounds;
  }

  // How the run ends now that all members have done their part, if they have.
  std::optional<RunOutcome> Judge(const std::vector<Place>& places,
                                  const CheckpointCommits& commits) const;

  // What Detail() tells of a run that goes on.
  void NoteFailure(std::string failure) { last_failure_ = std::move(failure); }
  const std::string& Detail() const;

  // The first outcome stays.
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
