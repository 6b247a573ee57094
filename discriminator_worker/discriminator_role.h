// SPDX-License-Identifier: Apache-2.0
//
// Discriminator side of a run: trains on real and generated images and gives
// the generators feedback as critics or image gradients.
//
// Between rounds the network is a version phi_rR (a boundary). Due feedback
// (feedback_giver.h) is given there, before the next training forward pass.
//
// Owner: a worker's run epoch. Thread safety: one compute thread.
// Errors: Status of the exchange or of a check; Torch exceptions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "discriminator_worker/discriminator_objective.h"
#include "discriminator_worker/feedback_giver.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"
#include "models/network.h"
#include "training/compute/compute.h"
#include "training/compute/tensor_bytes.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/inputs/conditions.h"
#include "training/inputs/sources.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"
#include "training/plan/run_plan.h"
#include "training/roles/role_parts.h"
#include "training/roles/round_role.h"
#include "training/state/device_sum.h"
#include "training/state/module_state.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class DiscriminatorRole : public RoundRole {
 public:
  struct Parts {
    std::shared_ptr<Discriminator> network;
    Compute compute = {};
    TensorsByName compute_choice = {};  // saved with the state
    // Makes a critic in modes in which an older version may have to judge.
    CriticFactory new_critic = {};
    std::unique_ptr<Optimizer> optimizer;              // of network
    std::unique_ptr<GradientScaler> scaler = nullptr;  // for float16
    // Null: this is the only rank.
    std::unique_ptr<GradientSynchronizer> synchronizer = nullptr;
    // Gathers values over the images of all ranks; null: a single rank.
    std::shared_ptr<FleetGather> fleet = nullptr;
    RealImageSource real_images;
    ConditionSource condition = NoCondition;  // of generated images
    // Real images by generator round, only for losses that use them.
    RealImageSource judging_images = {};
    // Returns the read-ahead metrics since the last call; null: no read-ahead.
    std::function<DataMetrics()> data_metrics = {};
  };

  // `exchange` must outlive the role.
  DiscriminatorRole(RunPlan plan, const EpochPlace& place, Parts parts,
                    DiscriminatorExchange* exchange, RoleServices services);

 private:
  enum class Phase { kGive, kGate, kTrain, kLeave };

  absl::StatusOr<AdvanceResult> Next(absl::Time deadline) override;
  StateParts State() const override;
  void AddMore(StateShard& state) const override;
  absl::Status RestoreMore(const TensorReader& state) override;

  absl::StatusOr<AdvanceResult> StartRound(absl::Time deadline);
  absl::StatusOr<AdvanceResult> Leave(absl::Time deadline);
  absl::StatusOr<AdvanceResult> Train(const DiscriminatorOp& op,
                                      absl::Time deadline);
  // Reads the step's real images unless the step has begun.
  absl::Status BeginStep(absl::Time deadline);
  absl::Status Real(const DiscriminatorOp& op, absl::Time deadline);
  absl::StatusOr<WaitEnd> Take(const DiscriminatorOp& op, absl::Time deadline);
  absl::Status Generated(const DiscriminatorOp& op, absl::Time deadline);
  void Backward(const DiscriminatorObjective::Share& share,
                GradientNoise::Part part, int64_t images);
  // Runs the backward passes of the step's second update.
  void PenalizeAgain();
  absl::Status EndStep(absl::Time deadline);
  RoundMetrics Measured() const;
  // This rank's images of a step, and their number.
  std::vector<IndexRange> slices() const {
    return RankSlices(plan_.schedule().discriminator_batch,
                      plan_.schedule().discriminator_batches, place_.rank,
                      plan_.discriminator.workers);
  }
  int64_t num_images() const {
    return RankImages(plan_.schedule().discriminator_batch,
                      plan_.schedule().discriminator_batches, place_.rank,
                      plan_.discriminator.workers);
  }

  const Parts parts_;
  DiscriminatorExchange* const exchange_;
  const std::unique_ptr<FeedbackGiver> feedback_;
  DiscriminatorObjective objective_;

  Phase phase_ = Phase::kGive;
  std::vector<DiscriminatorOp> ops_;
  size_t next_op_ = 0;

  RealImages real_;  // of this rank and step
  int64_t real_step_ = -1;
  std::map<int64_t, std::vector<ImageBatch>> taken_;  // by first index

  DeviceSum loss_sum_;
  DeviceSum logit_real_sum_;
  DeviceSum logit_generated_sum_;
  int64_t image_age_ = 0;
};

// Builds a discriminator role from a run's plan: network, optimizer, real
// images, and the state of a checkpoint. One factory serves all run epochs of a
// process, to keep the dataset (kept_dataset.h). Errors: faults of config,
// dataset, device or checkpoint; Torch exceptions.
RoleFactory<DiscriminatorExchange> DiscriminatorRoles();

}  // namespace gandem
