// SPDX-License-Identifier: Apache-2.0
//
// A role that runs round by round: what both roles do around their operations.
// It asks the gate, saves the state when that is due, updates the network (the
// fleet's gradients, clipping and the optimizer, the fleet's agreement), and
// measures and reports each round, with signs of bad health (rank 0).
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
  // In the order of a checkpoint's file.
  struct NamedState {
    std::string prefix;
    TensorsByName tensors;
    StateChanges changes = StateChanges::kAnytime;
  };
  using StateParts = std::vector<NamedState>;

  // What a step updates, which outlives this, and how it is computed.
  struct Trained {
    const torch::nn::Module* network = nullptr;
    Optimizer* optimizer = nullptr;
    GradientScaler* scaler = nullptr;              // null: no loss scale
    GradientSynchronizer* synchronizer = nullptr;  // null: the only worker
    Compute compute = {};
    TensorsByName compute_choice = {};  // saved with the state
  };

  RoundRole(Role role, RunPlan plan, const EpochPlace& place,
            RoleServices services, Trained trained);

  // Of the parts of either role.
  template <typename Parts>
  static Trained TrainedOf(const Parts& parts) {
    return {.network = parts.network.get(),
            .optimizer = parts.optimizer.get(),
            .scaler = parts.scaler.get(),
            .synchronizer = parts.synchronizer.get(),
            .compute = parts.compute,
            .compute_choice = parts.compute_choice};
  }

  // Does the next operation. DEADLINE_EXCEEDED: it waits, and nothing changed.
  virtual absl::StatusOr<AdvanceResult> Next(absl::Time deadline) = 0;
  // But for the loss scale, which is here.
  virtual StateParts State() const = 0;
  // What is not the same tensors at all times.
  virtual void AddMore(StateShard&) const {}
  virtual absl::Status RestoreMore(const TensorReader&) {
    return absl::OkStatus();
  }

  // Begins round(); false: the run or the cut ends before it.
  //   DEADLINE_EXCEEDED  the gate holds it.
  //   OUT_OF_RANGE       there was a health warning that ends the run.
  absl::StatusOr<bool> BeginRound(absl::Time deadline);
  // The next backward pass is the step's last.
  void ExpectLastBackward();
  // Runs a backward pass, that of `images` of the step's; in rounds of
  // noise_scale_every_rounds the noise of its gradient is measured.
  void MeasuredBackward(GradientNoise::Part part, int64_t images,
                        absl::FunctionRef<void()> backward);
  // The backward passes of a second update of a step, at the parameters that
  // the first one has left; what they do not reach counts as 0.
  using SecondUpdate = std::function<absl::Status()>;
  // Ends a step, whose loss is `loss`; `before` is called once, when the
  // gradients are there and nothing has changed yet. `second`: null, or what is
  // called once after the update. All of a step is one version.
  //   DEADLINE_EXCEEDED  waits for other ranks: call again.
  //   OUT_OF_RANGE       the loss or a gradient is not finite.
  absl::Status Update(const DeviceSum& loss, absl::FunctionRef<void()> before,
                      const SecondUpdate& second, absl::Time deadline);
  // Until the next wait, or until Advance is done.
  void NoteWait(WorkerPosition::Wait what, Role whom = ROLE_UNKNOWN) const;
  // Whether the images of round() are measured (ImageMeter).
  bool MeasuresImages() const {
    return place_.rank == 0 && TrainingHealth::MeasuresImages(round_);
  }
  // Ends and reports the round; `metrics` has what only this role knows.
  void EndRound(RoundMetrics metrics);
  //   OUT_OF_RANGE  a number of the state is not finite; nothing is saved.
  absl::Status SaveIfDue();

  int64_t round() const { return round_; }      // in progress, or the next one
  int64_t updates() const { return updates_; }  // since the start of the run
  RoundTimer* timer() { return &timer_; }

  const RunPlan plan_;
  const EpochPlace place_;
  const RoleServices services_;

 private:
  const RolePlan& role_plan() const { return plan_.role(role_); }
  // Is the state of this many rounds one that is saved?
  bool SavesAfter(int64_t completed_rounds) const;
  // All of it, of which `shard` is a rank's share.
  StateShard WithState(StateShard shard) const;
  absl::Status TryUpdate(absl::FunctionRef<void()> before,
                         const SecondUpdate& second, absl::Time deadline);
  // One update; returns the gradient's norm.
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
  bool is_reducing_ = false;  // has called Reduce, which was not done
  int64_t round_;
  int64_t updates_;
  int64_t saved_rounds_;  // completed rounds in the newest saved state
  SnapshotBuffers buffers_;
  std::weak_ptr<TensorSnapshot> saving_;  // what is still being written
  RoundTimer timer_;
  bool is_second_ = false;  // in the second update of a step
  // Has taken an update that the other ranks have not agreed to yet.
  bool is_updated_ = false;
  // Norm of the gradient in the last step's first update, before clipping; 0 if
  // that update was skipped.
  double gradient_norm_ = 0;
  TrainingHealth health_;
  int64_t skipped_ = 0;  // updates, up to the round before
  absl::Status unhealthy_;
};

}  // namespace gandem
