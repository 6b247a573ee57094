// SPDX-License-Identifier: Apache-2.0
//
// Builds the two roles of a run from its config: networks, optimizers, noise,
// real images, and the state of a checkpoint.
//
// Thread safety: the compute thread. Errors: what is wrong with the config,
// the dataset, the device or the checkpoint; Torch exceptions.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "proto/config.pb.h"
#include "training/discriminator_role.h"
#include "training/fleet_collectives.h"
#include "training/generator_role.h"
#include "training/run_setup.h"

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

absl::StatusOr<std::unique_ptr<GeneratorRole>> MakeGeneratorRole(
    const RunConfig& config, const RoleSetup& setup,
    GeneratorExchange* exchange);

absl::StatusOr<std::unique_ptr<DiscriminatorRole>> MakeDiscriminatorRole(
    const RunConfig& config, const RoleSetup& setup,
    DiscriminatorExchange* exchange);

}  // namespace gandem
