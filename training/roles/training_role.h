// SPDX-License-Identifier: Apache-2.0
//
// A role: a sequence of operations (exchange/schedule.h), executed one by one.
// The same code serves both modes: a decoupled worker advances one role and
// waits inside the exchange; a colocated worker tries both in turn.
//
// Owner: a worker's run epoch. Thread safety: one compute thread.
// Errors: Status, final after the first; Torch exceptions (see CatchTorch).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "collective/collective.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/checkpoint/safetensors.h"
#include "common/checkpoint/tensor_snapshot.h"
#include "common/control/wait_board.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "proto/metrics.pb.h"
#include "training/roles/round_gate.h"

namespace gandem {

enum class AdvanceResult {
  kAdvanced,
  kWaiting,   // waits for the other role, data or the gate; nothing changed
  kFinished,  // all rounds are done, and the other role needs nothing
};

class TensorReader;

// State of a role between two calls of Advance.
struct RoleState {
  int64_t completed_rounds = 0;
  // Optimizer updates since the start of the run. Within a round, running
  // statistics and spectral-norm vectors may be newer: they include forward
  // passes of the unfinished step.
  int64_t updates = 0;
  std::vector<NamedTensor> tensors = {};  // as in a checkpoint
};

// Bytes of a role's trained state on its device.
struct TrainedBytes {
  int64_t parameters = 0;
  int64_t buffers = 0;
  int64_t optimizer = 0;
};

class TrainingRole {
 public:
  virtual ~TrainingRole() = default;
  // Executes the next operation; waits for the other role until `deadline`.
  virtual absl::StatusOr<AdvanceResult> Advance(absl::Time deadline) = 0;
  virtual RoleState Capture() const = 0;
  virtual TrainedBytes Size() const = 0;
  // Replaces all state. Must be called before the first Advance.
  virtual absl::Status Restore(const TensorReader& state) = 0;
};

// Receives the states that a role saves at ends of rounds.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // Waits until there is room for one more state, and the previous state saved
  // as `file` has been written or abandoned.
  virtual absl::Status AwaitRoom(const std::string& file) = 0;
  // Writes the state after `completed_rounds` in the background. Requires
  // AwaitRoom. `share` is this rank's part of the state. `checksums` cover the
  // whole state, and are empty if `share` is all of it.
  virtual absl::Status Save(int64_t completed_rounds, std::string file,
                            std::shared_ptr<TensorSnapshot> share,
                            TensorChecksums checksums) = 0;
};

// Services of a worker for its roles, which they outlive.
struct RoleServices {
  RoundGate* gate = nullptr;
  CheckpointSink* checkpoints = nullptr;  // null: nothing is saved
  // Whether every rank saves the whole state, for comparison.
  bool saves_whole_state = false;
  // Called at the end of each round of a role.
  std::function<void(const RoundMetrics&)> report = {};
  // Collective of the role's fleet, for measurements; null: a single worker.
  const Collective* fleet = nullptr;
  WaitBoard* waits = nullptr;  // null: waits are not reported
};

// Measures a round and its waits. A round begins at the end of the previous
// one, so work between rounds (checkpoints, the gate, a critic's duties)
// belongs to the later round, and all rounds add up to the whole time.
//
// Communication of the fleet is exposed while kSync is timed, or while a wait
// blocks the compute thread elsewhere (statistics over all ranks in a forward
// pass); otherwise it is hidden.
class RoundTimer {
 public:
  enum Wait { kImages, kFeedback, kData, kCache, kSync, kNumWaits };
  // Reason of a wait, and the role of the awaited workers (ROLE_UNKNOWN: none).
  struct Awaited {
    WorkerPosition::Wait what = WorkerPosition::NOTHING;
    Role whom = ROLE_UNKNOWN;
  };

  // `fleet` and `board` may be null; they outlive the timer.
  explicit RoundTimer(const Collective* fleet = nullptr,
                      WaitBoard* board = nullptr);

  // Adds the time of `call`, which returns a Status or StatusOr, to `wait`.
  // After DEADLINE_EXCEEDED, `rank` returns the awaited worker.
  template <typename Rank, typename Call>
  auto Timed(Wait wait, Awaited awaited, Rank&& rank, Call&& call) {
    const absl::Time begin = Begin(wait, awaited);
    auto result = call();
    End(wait, begin);
    if (board_ == nullptr) return result;
    if (absl::IsDeadlineExceeded(internal::StatusOf(result))) {
      board_->NameRank(rank());
    } else {
      board_->End();
    }
    return result;
  }
  template <typename Call>
  auto Timed(Wait wait, Awaited awaited, Call&& call) {
    return Timed(
        wait, awaited, [] { return -1; }, std::forward<Call>(call));
  }
  // Sets the fields about time and communication and begins the next round.
  // `metrics` has its role and round set.
  void EndRound(RoundMetrics& metrics);

 private:
  absl::Time Begin(Wait wait, Awaited awaited);
  void End(Wait wait, absl::Time begin);
  CollectiveStats stats() const;

  const Collective* const fleet_;
  WaitBoard* const board_;
  absl::Time start_ = MonotonicNow();
  absl::Duration waits_[kNumWaits] = {};
  CollectiveStats at_start_;  // at the start of the round
  CollectiveStats at_sync_;   // at the last Begin(kSync)
  CollectiveStats in_sync_;   // sum over the time in kSync
};

}  // namespace gandem
