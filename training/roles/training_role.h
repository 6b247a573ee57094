// SPDX-License-Identifier: Apache-2.0
//
// What the two roles have in common: a role is a sequence of operations
// (exchange/schedule.h), executed one by one. The same code serves both modes:
// a decoupled worker advances one role and waits inside the exchange; a
// colocated worker tries both in turn.
//
// Owner: a worker's run epoch. Thread safety: one compute thread.
// Errors: Status, first one final; Torch exceptions (see CatchTorch).
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
  kWaiting,   // for the other role, data or the gate; nothing changed
  kFinished,  // all rounds are done and the other side has what it needs
};

class TensorReader;

// What a role is between two calls of Advance.
struct RoleState {
  int64_t completed_rounds = 0;
  // Optimizer updates since the start of the run. Within a round, running
  // statistics and spectral-norm vectors may be ahead of them: they have seen
  // forward passes of the unfinished step.
  int64_t updates = 0;
  std::vector<NamedTensor> tensors = {};  // those of a checkpoint
};

// Bytes of what a role trains, where it computes.
struct TrainedBytes {
  int64_t parameters = 0;
  int64_t buffers = 0;
  int64_t optimizer = 0;
};

class TrainingRole {
 public:
  virtual ~TrainingRole() = default;
  // Executes the next operation; waits for the other side until `deadline`.
  virtual absl::StatusOr<AdvanceResult> Advance(absl::Time deadline) = 0;
  // Copies all state.
  virtual RoleState Capture() const = 0;
  virtual TrainedBytes Size() const = 0;
  // Replaces all state; before the first Advance.
  virtual absl::Status Restore(const TensorReader& state) = 0;
};

// When state is saved, and who takes it. A role calls it at round ends.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // Waits until there is room for one more, and what was saved as `file` before
  // is written or given up.
  virtual absl::Status AwaitRoom(const std::string& file) = 0;
  // Takes the state after `completed_rounds`; writes it in the background. To
  // be called after AwaitRoom. `checksums` are those of the whole state, of
  // which `share` is this rank's part; empty where it is all of it.
  virtual absl::Status Save(int64_t completed_rounds, std::string file,
                            std::shared_ptr<TensorSnapshot> share,
                            TensorChecksums checksums) = 0;
};

// What a worker lends to its roles. Outlives them.
struct RoleServices {
  RoundGate* gate = nullptr;
  CheckpointSink* checkpoints = nullptr;  // may be null: nothing is saved
  // Every rank saves the whole state, not its share of it: to compare them.
  bool saves_whole_state = false;
  // Called at the end of each round of a role.
  std::function<void(const RoundMetrics&)> report = {};
  // Of the role, for its measurements; null: this is its only worker.
  const Collective* fleet = nullptr;
  WaitBoard* waits = nullptr;  // null: nobody wants to know
};

// Measures a round and the parts of it that were spent waiting. A round begins
// where the one before it ended: what lies between them (checkpoints, the gate,
// a critic's duties) is part of the later one, and the sum is the whole time.
//
// Communication of the fleet is exposed while kSync is timed or Wait holds the
// compute thread up elsewhere (statistics over all ranks, in a forward pass).
// While an operation is under way and neither is so, it is hidden.
class RoundTimer {
 public:
  enum Wait { kImages, kFeedback, kData, kCache, kSync, kNumWaits };
  // What a wait is for, and of which role's workers; ROLE_UNKNOWN: of none.
  struct Awaited {
    WorkerPosition::Wait what = WorkerPosition::NOTHING;
    Role whom = ROLE_UNKNOWN;
  };

  // `fleet` and `board` outlive this; null: there is none.
  explicit RoundTimer(const Collective* fleet = nullptr,
                      WaitBoard* board = nullptr);

  // Runs `call`, which returns a Status or StatusOr, and books its time. When
  // it has to be called again (DEADLINE_EXCEEDED), `rank` says for which worker
  // it waits.
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
  // Fills what is about time and communication from `metrics`' role and round;
  // the next round begins.
  void EndRound(RoundMetrics& metrics);

 private:
  absl::Time Begin(Wait wait, Awaited awaited);
  void End(Wait wait, absl::Time begin);
  CollectiveStats stats() const;

  const Collective* const fleet_;
  WaitBoard* const board_;
  absl::Time start_ = MonotonicNow();
  absl::Duration waits_[kNumWaits] = {};
  CollectiveStats at_start_;  // of the round
  CollectiveStats at_sync_;   // at the last Begin(kSync)
  CollectiveStats in_sync_;   // added up while kSync was timed
};

}  // namespace gandem
