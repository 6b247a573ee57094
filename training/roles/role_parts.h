// SPDX-License-Identifier: Apache-2.0
//
// Builds parts shared by both roles. The roles are in generator_worker/ and
// discriminator_worker/, which export a RoleFactory.
//
// Thread safety: the compute thread. Errors: an invalid config, device or
// checkpoint; Torch exceptions.
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

struct RoleSetup {
  EpochPlace place;
  std::string resume_from = {};  // folder of a checkpoint; empty: a new run
  std::string run_dir = {};      // for samples/; empty: no sample grids
  // Resolved AUTO of each role; a generator's critic needs both.
  ComputeChoice generator_choice = {};
  ComputeChoice discriminator_choice = {};
  RoleServices services = {};
  // Collectives over this role's workers; empty for a single worker.
  FleetCollectives fleet = {};
};

// Builds a role and restores `setup.resume_from`. `exchange` outlives the role.
template <typename Exchange>
using RoleFactory = std::function<absl::StatusOr<std::unique_ptr<TrainingRole>>(
    const RunPlan& plan, const RoleSetup& setup, Exchange* exchange)>;

// Factories of a program's roles; null for a missing role.
struct RoleFactories {
  RoleFactory<GeneratorExchange> generator = nullptr;
  RoleFactory<DiscriminatorExchange> discriminator = nullptr;
};

RoleServices ServicesOf(const RoleSetup& setup);

// Makes a discriminator or critic with initial parameters from the seed.
absl::StatusOr<std::shared_ptr<Discriminator>> NewDiscriminator(
    const NetworkPlan& plan, const Compute& compute);

// Changes the random numbers of layers such as dropout after a rollback. Must
// be called for critics and all networks that train.
void SaltAfterRollback(const RunPlan& plan, torch::nn::Module& network);

// Returns null if `compute` needs no loss scale.
std::unique_ptr<GradientScaler> NewScaler(const RolePlan& role,
                                          const Compute& compute);

// Returns the fraction of a step's images that the worker at `place` trains on.
double ShareOf(const RolePlan& role, const EpochPlace& place);

// Returns null without a fleet. The references must outlive the result.
// `more_buffers` are treated like buffers of the network.
std::unique_ptr<GradientSynchronizer> NewSynchronizer(
    const RolePlan& role, const RoleSetup& setup,
    const torch::nn::Module& network, const Optimizer& optimizer,
    const GradientScaler* scaler, const TensorsByName& more_buffers = {});

// Enables sync batch norm, if configured, in a network that all workers of the
// role run in the same steps (unlike averages and samples).
void SyncIfAsked(const RolePlan& role, const RoleSetup& setup,
                 torch::nn::Module& network);

// Loads the state dict that the run was started with
// (common/checkpoint/initial_state.h) into `networks`, if there is one for
// `role` ("generator", "discriminator"). Every rank reads the same file. Does
// nothing when resuming from a checkpoint or without a run folder. Errors of
// FindInitialState and LoadStateDict (training/state/load_state_dict.h).
absl::Status BeginAsGiven(const RoleSetup& setup, const std::string& role,
                          std::initializer_list<torch::nn::Module*> networks);

// Restores `role`, called `name` in checkpoints, if the run is resumed.
absl::Status RestoreIfResumed(const RoleSetup& setup, const std::string& name,
                              TrainingRole& role);

}  // namespace gandem
