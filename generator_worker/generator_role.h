// SPDX-License-Identifier: Apache-2.0
//
// Generator side of a run: makes images, gets feedback on them
// (feedback_taker.h), updates.
//
// Owner: a worker's run epoch. Thread safety: one compute thread.
// Errors: Status of the exchange or of a check; Torch exceptions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "generator_worker/feedback_taker.h"
#include "models/fleet_gather.h"
#include "models/network.h"
#include "training/compute/compute.h"
#include "training/compute/tensor_bytes.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/inputs/conditions.h"
#include "training/inputs/pairs.h"
#include "training/inputs/sources.h"
#include "training/objective/path_penalty.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/round_role.h"
#include "training/roles/training_health.h"
#include "training/state/device_sum.h"
#include "training/state/ema.h"
#include "training/state/module_state.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class GeneratorRole : public RoundRole {
 public:
  struct Parts {
    std::shared_ptr<Generator> network;
    std::shared_ptr<Generator> average;  // EMA of network
    Compute compute = {};
    TensorsByName compute_choice = {};  // saved with the state
    // Makes the critic in modes that judge on the generator.
    CriticFactory new_critic = {};
    std::unique_ptr<Ema> ema;              // from network to average
    std::unique_ptr<Optimizer> optimizer;  // of network
    std::unique_ptr<GradientScaler> scaler = nullptr;  // for float16
    // Null: this is the only rank.
    std::unique_ptr<GradientSynchronizer> synchronizer = nullptr;
    NoiseSource noise;
    ConditionSource condition = NoCondition;
    // Null: no path length penalty.
    std::unique_ptr<PathPenalty> path_penalty = nullptr;
    NoiseSource path_direction = {};  // for path_penalty; image-sized
    // Averages over all ranks' images; null: a single or independent rank.
    std::shared_ptr<FleetGather> fleet = nullptr;
    // Required for paired losses, otherwise optional.
    std::shared_ptr<const PairReader> pairs = nullptr;
    // Writes a sample grid if one is due. Returns its path for metrics, or "".
    std::function<std::string(int64_t completed_rounds, Generator& average)>
        write_samples = {};
  };

  // `exchange` must outlive the role.
  GeneratorRole(RunPlan plan, const EpochPlace& place, Parts parts,
                GeneratorExchange* exchange, RoleServices services);

 private:
  struct MicroBatch {
    IndexRange range;
    Condition condition;
    at::Tensor images_NCHW;   // with its graph until kBackward
    at::Tensor targets_NCHW;  // desired images, for paired losses
  };

  absl::StatusOr<AdvanceResult> Next(absl::Time deadline) override;
  StateParts State() const override;

  absl::StatusOr<AdvanceResult> BetweenRounds(absl::Time deadline);
  absl::Status Execute(const GeneratorOp& op, absl::Time deadline);
  absl::Status MakeImages(const GeneratorOp& op);
  absl::Status Forward(const GeneratorOp& op);
  absl::Status Send(ImageUse use, IndexRange range, absl::Time deadline);
  absl::Status Backward(const GeneratorOp& op);
  bool PathsAreDue() const {
    return parts_.path_penalty && plan_.objective.path_length.Due(round());
  }
  // Runs the backward passes of path lengths, `at_once` images in each.
  absl::Status PenalizePaths(int64_t at_once);
  absl::Status EndStep(absl::Time deadline);
  RoundMetrics Measured();

  const Parts parts_;
  GeneratorExchange* const exchange_;
  const std::unique_ptr<FeedbackTaker> feedback_;

  std::vector<GeneratorOp> ops_;
  size_t next_op_ = 0;
  bool finished_ = false;

  SharedBytes outgoing_;  // for the next send
  std::vector<MicroBatch> micro_batches_;
  DeviceSum loss_sum_;
  std::optional<ImageMeter> meter_;  // in rounds whose images are measured
};

// Builds a generator role from a run's plan: network, critic, optimizer, noise,
// and the state of a checkpoint. Errors: faults of config, dataset, device or
// checkpoint; Torch exceptions.
absl::StatusOr<std::unique_ptr<TrainingRole>> MakeGeneratorRole(
    const RunPlan& plan, const RoleSetup& setup, GeneratorExchange* exchange);

}  // namespace gandem
