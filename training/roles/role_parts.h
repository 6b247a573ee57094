// SPDX-License-Identifier: Apache-2.0
//
// What building a role needs, and the parts that both roles are built of. The
// roles themselves are in generator_worker/ and discriminator_worker/, which
// hand a RoleFactory to whoever runs them.
//
// Thread safety: the compute thread. Errors: what is wrong with the config, the
// device or the checkpoint; Torch exceptions.
#pragma once

#include <torch/nn/module.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "models/network.h"
#include "proto/metrics.pb.h"
#include "training/fleet/fleet_collectives.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"
#include "training/plan/run_plan.h"
#include "training/roles/training_role.h"
#include "training/state/module_state.h"

namespace gandem {

// What a role needs from its surroundings.
struct RoleSetup {
  EpochPlace place;
  std::string resume_from = {};  // folder of a checkpoint; empty: a new run
  std::string run_dir = {};      // for samples/; empty: no sample grids
  // What AUTO has become in each role; a generator needs both, for its critic.
  ComputeChoice generator_choice = {};
  ComputeChoice discriminator_choice = {};
  RoleServices services = {};
  // The workers of this one's role; outlives the role. Empty: this is the only
  // one.
  FleetCollectives fleet = {};
};

// Builds a role, with the state of `setup.resume_from`. `Exchange` outlives it.
template <typename Exchange>
using RoleFactory = std::function<absl::StatusOr<std::unique_ptr<TrainingRole>>(
    const RunPlan& plan, const RoleSetup& setup, Exchange* exchange)>;

// The roles that a program has; the others are null.
struct RoleFactories {
  RoleFactory<GeneratorExchange> generator = nullptr;
  RoleFactory<DiscriminatorExchange> discriminator = nullptr;
};

RoleServices ServicesOf(const RoleSetup& setup);

// With the parameters of the run's seed, where and as `compute` says. Also the
// generator's critic is one.
absl::StatusOr<std::shared_ptr<Discriminator>> NewDiscriminator(
    const NetworkPlan& plan, const Compute& compute);

// After a rollback of the run also layers that draw go on with other numbers:
// all networks that train, or judge in training.
void SaltAfterRollback(const RunPlan& plan, torch::nn::Module& network);

// Null where `compute` needs no loss scale.
std::unique_ptr<GradientScaler> NewScaler(const RolePlan& role,
                                          const Compute& compute);

// Of a step's images, what is trained on at this place.
double ShareOf(const RolePlan& role, const EpochPlace& place);

// Null without a fleet. The references outlive what is returned. `more_buffers`
// are treated as those of the network.
std::unique_ptr<GradientSynchronizer> NewSynchronizer(
    const RolePlan& role, const RoleSetup& setup,
    const torch::nn::Module& network, const Optimizer& optimizer,
    const GradientScaler* scaler, const TensorsByName& more_buffers = {});

// `network` sees the images of all workers of this one's role, if `role`, whose
// network it is, wants that. For networks that all of them run in step; an
// average or a sample is one rank's own.
void SyncIfAsked(const RolePlan& role, const RoleSetup& setup,
                 torch::nn::Module& network);

// Networks that begin with a state dict which the run was given
// (common/checkpoint/initial_state.h) in place of drawn values.
// Sets parameters and buffers of `networks`, those of `role` ("generator",
// "discriminator"), if the run keeps a state dict for it; every rank reads the
// same file. Does nothing where the role resumes from a checkpoint, or without
// a run folder.
//   those of FindInitialState (common/checkpoint/initial_state.h) and of
//   LoadStateDict (training/state/load_state_dict.h).
absl::Status BeginAsGiven(const RoleSetup& setup, const std::string& role,
                          std::initializer_list<torch::nn::Module*> networks);

// Replaces the state of `role`, named `name` in checkpoints, by that of
// `setup.resume_from`, if there is one.
absl::Status RestoreIfResumed(const RoleSetup& setup, const std::string& name,
                              TrainingRole& role);

}  // namespace gandem
