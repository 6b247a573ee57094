// SPDX-License-Identifier: Apache-2.0
//
// Base class of both roles. Asks the gate before each round, saves the state
// when due, updates the network (sums gradients over the fleet, clips, steps
// the optimizer, compares states), and measures, checks and reports each round.
//
// Owner: a worker's run epoch. Thread safety: one compute thread.
// Errors: training_role.h; those of GradientSynchronizer and UpdateNetwork.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "training/compute/compute.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/optimizers/gradient_noise.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"
#include "training/plan/run_plan.h"
#include "training/roles/training_health.h"
#include "training/roles/training_role.h"
#include "training/state/device_sum.h"
#include "training/state/module_state.h"
#include "training/state/state_shard.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class RoundRole : public TrainingRole {
 public:
  absl::StatusOr<AdvanceResult> Advance(absl::Time deadline) final;
  RoleState Capture() const final;
  TrainedBytes Size() const final;
  absl::Status Restore(const TensorReader& state) final;

 protected:
  struct NamedState {
    std::string prefix;
    TensorsByName tensors;
    StateChanges changes = StateChanges::kAnytime;
  };
  using StateParts = std::vector<NamedState>;  // in the order of the file

  // Parts updated by a step, which outlive the role, with compute settings.
  struct Trained {
    const torch::nn::Module* network = nullptr;
    Optimizer* optimizer = nullptr;
    GradientScaler* scaler = nullptr;              // null: no loss scale
    GradientSynchronizer* synchronizer = nullptr;  // null: a single worker
    Compute compute = {};
    TensorsByName compute_choice = {};  // saved with the state
  };

  RoundRole(Role role, RunPlan plan, const EpochPlace& place,
            RoleServices services, Trained trained);

  // Extracts the trained parts from either role's `Parts`.
  template <typename Parts>
  static Trained TrainedOf(const Parts& parts) {
    return {.network = parts.network.get(),
            .optimizer = parts.optimizer.get(),
            .scaler = parts.scaler.get(),
            .synchronizer = parts.synchronizer.get(),
            .compute = parts.compute,
            .compute_choice = parts.compute_choice};
  }

  // Executes the next operation. DEADLINE_EXCEEDED: nothing has changed.
  virtual absl::StatusOr<AdvanceResult> Next(absl::Time deadline) = 0;
  // Returns the role's state without the loss scale, which RoundRole adds.
  virtual StateParts State() const = 0;
  // Adds state whose set of tensors varies over time.
  virtual void AddMore(StateShard&) const {}
  virtual absl::Status RestoreMore(const TensorReader&) {
    return absl::OkStatus();
  }

  // Begins round(). Returns false if the run or the cut ends before it.
  //   DEADLINE_EXCEEDED  the gate is paused.
  //   OUT_OF_RANGE       a health warning ends the run.
  absl::StatusOr<bool> BeginRound(absl::Time deadline);
  void ExpectLastBackward();
  // Runs the backward pass for `images` of the step's images. Measures gradient
  // noise in rounds selected by noise_scale_every_rounds.
  void MeasuredBackward(GradientNoise::Part part, int64_t images,
                        absl::FunctionRef<void()> backward);
  // Runs the backward passes of a step's second update, after the first update.
  // Parameters without a gradient then get a gradient of 0.
  using SecondUpdate = std::function<absl::Status()>;
  // Ends a step with loss `loss`. Calls `before` once, after the gradients are
  // complete and before the update, and `second` (may be null) once after the
  // update. Both updates together make one version.
  //   DEADLINE_EXCEEDED  still waiting for other ranks; call again.
  //   OUT_OF_RANGE       the loss or a gradient is not finite.
  absl::Status Update(const DeviceSum& loss, absl::FunctionRef<void()> before,
                      const SecondUpdate& second, absl::Time deadline);
  // Reports that the role waits, until the next wait or the end of Advance.
  void NoteWait(WorkerPosition::Wait what, Role whom = ROLE_UNKNOWN) const;
  // Returns whether the images of round() are measured (ImageMeter).
  bool MeasuresImages() const {
    return place_.rank == 0 && TrainingHealth::MeasuresImages(round_);
  }
  // Ends and reports the round; `metrics` has the fields of the derived role.
  void EndRound(RoundMetrics metrics);
  //   OUT_OF_RANGE  the state has a value that is not finite; nothing is saved.
  absl::Status SaveIfDue();

  int64_t round() const { return round_; }      // the current or next round
  int64_t updates() const { return updates_; }  // since the start of the run
  RoundTimer* timer() { return &timer_; }

  const RunPlan plan_;
  const EpochPlace place_;
  const RoleServices services_;

 private:
  const RolePlan& role_plan() const { return plan_.role(role_); }
  // Returns whether the state after `completed_rounds` is saved.
  bool SavesAfter(int64_t completed_rounds) const;
  StateShard WithState(StateShard shard) const;
  absl::Status TryUpdate(absl::FunctionRef<void()> before,
                         const SecondUpdate& second, absl::Time deadline);
  // Makes one update; returns the gradient's norm.
  absl::StatusOr<double> UpdateOnce(absl::FunctionRef<void()> before,
                                    absl::Time deadline);
  absl::Status BeginSecondUpdate(const SecondUpdate& second);
  absl::Status Reduce(GradientSynchronizer& synchronizer, absl::Time deadline);
  void BeginNoiseOfStep();
  void JudgeHealth(RoundMetrics& metrics);

  const Role role_;
  const int64_t steps_per_round_;
  const Trained trained_;
  GradientNoiseMeter noise_;
  bool is_reducing_ = false;  // Reduce must be called again
  int64_t round_;
  int64_t updates_;
  int64_t saved_rounds_;  // of the newest saved state
  SnapshotBuffers buffers_;
  std::weak_ptr<TensorSnapshot> saving_;  // the snapshot being written
  RoundTimer timer_;
  bool is_second_ = false;  // in the second update of a step
  // Between an update and the end of GradientSynchronizer::AfterUpdate.
  bool is_updated_ = false;
  // Gradient norm of the last step's first update; 0 if it was skipped.
  double gradient_norm_ = 0;
  TrainingHealth health_;
  int64_t skipped_ = 0;  // skipped updates before this round
  absl::Status unhealthy_;
};

}  // namespace gandem
