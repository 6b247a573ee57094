// SPDX-License-Identifier: Apache-2.0
//
// The discriminator's side of a run: trains on real and generated images and
// gives the generator its feedback, as critics or as image gradients.
//
// Between rounds the network is a version phi_rR (a boundary); what it owes the
// generators (feedback_giver.h) is given there, before the next training
// forward.
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
    // Makes a critic in modes in which an older version may have to judge here.
    CriticFactory new_critic = {};
    std::unique_ptr<Optimizer> optimizer;              // of network
    std::unique_ptr<GradientScaler> scaler = nullptr;  // of float16
    // Null: this is the only rank.
    std::unique_ptr<GradientSynchronizer> synchronizer = nullptr;
    // Gathers values over the images of all ranks; null: all images are on this
    // rank.
    std::shared_ptr<FleetGather> fleet = nullptr;
    RealImageSource real_images;
    ConditionSource condition = NoCondition;  // of generated images
    // Real images by generator round, only for losses that compare judged
    // images with real ones.
    RealImageSource judging_images = {};
    // Takes the metrics of reading ahead since the last call; null: nothing is
    // read ahead.
    std::function<DataMetrics()> data_metrics = {};
  };

  // `exchange` outlives the role.
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
  // Unless it has begun: reads its real images.
  absl::Status BeginStep(absl::Time deadline);
  absl::Status Real(const DiscriminatorOp& op, absl::Time deadline);
  absl::StatusOr<WaitEnd> Take(const DiscriminatorOp& op, absl::Time deadline);
  absl::Status Generated(const DiscriminatorOp& op, absl::Time deadline);
  void Backward(const DiscriminatorObjective::Share& share,
                GradientNoise::Part part, int64_t images);
  // The backward passes of the step's second update.
  void PenalizeAgain();
  absl::Status EndStep(absl::Time deadline);
  RoundMetrics Measured() const;
  // This rank's images of a step, and how many they are.
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

  RealImages real_;  // this rank's, of the step
  int64_t real_step_ = -1;
  std::map<int64_t, std::vector<ImageBatch>> taken_;  // by first index

  DeviceSum loss_sum_;
  DeviceSum logit_real_sum_;
  DeviceSum logit_generated_sum_;
  int64_t image_age_ = 0;
};

// Builds the discriminator's role of a run from its plan: network, optimizer,
// real images, and the state of a checkpoint. One factory for all run epochs of
// a process: it keeps the dataset (kept_dataset.h).
// Errors: what is wrong with the config, the dataset, the device or the
// checkpoint; Torch exceptions.
RoleFactory<DiscriminatorExchange> DiscriminatorRoles();

}  // namespace gandem
