// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: everything that its parts need from the config, converted
// to their option structs, so that only a worker's run epoch sees the
// RunConfig. Messages of single parts (NetworkConfig ...) are kept.
//
// Owner: immutable values. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config/run_config.h"
#include "exchange/exchange_options.h"
#include "exchange/schedule.h"
#include "proto/config.pb.h"
#include "training/compute/network_plan.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/inputs/data_plan.h"
#include "training/objective/objective.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/make_optimizer.h"
#include "training/state/ema.h"

namespace gandem {

struct EpochPlace {
  int rank = 0;  // among the participating workers of its role
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int64_t first_round = 0;
  int64_t saved_rounds = 0;  // in the newest complete checkpoint
};

struct RolePlan {
  NetworkPlan network = {};
  int workers = 1;
  int64_t step_batch = 1;    // images per update, over the whole fleet
  int64_t step_batches = 1;  // batches per update
  // Updates between two points at which all workers have equal state.
  int64_t steps_to_agreement = 1;
  std::vector<std::string> freeze = {};  // parameter name patterns
  OptimizerConfig optimizer = {};
  OptimizerUse optimizer_use = {};
  double clip_gradient_norm = std::numeric_limits<double>::infinity();
  GradientScaler::Options loss_scale = {};  // for float16
  GradientSynchronizer::Options sync = {};  // without the rank's fields
  bool syncs_batch_norm = false;
  bool uses_nccl = false;  // between several workers
};

// Grids of generated images.
struct SamplePlan {
  uint64_t seed = 0;
  int64_t every_rounds = 0;  // 0: none
  int64_t num_images = 0;
};

struct ControlPlan {
  absl::Duration heartbeat;
  absl::Duration heartbeat_timeout;
  absl::Duration join_timeout;
  absl::Duration grace;
  int64_t metrics_every_rounds = 1;
  int64_t noise_scale_every_rounds = 0;  // 0: never measured
  bool ends_on_health_warning = false;
  absl::Duration poll;  // how often a waiting role checks for a stop
};

struct RunPlan {
  // Seed of noise, augmentation and penalties; changes at rollbacks.
  uint64_t noise_seed = 0;
  int64_t rounds = 0;
  int64_t checkpoint_every_rounds = 0;  // 0: only at the end and at a cut
  ExchangeOptions exchange = {};        // without the place; see ExchangeAt
  ObjectiveOptions objective = {};
  // Whether the generator's loss needs the critic's logits of real images from
  // a separate pass (not a training pass).
  bool judges_with_real_images = false;
  RolePlan generator = {};
  RolePlan discriminator = {};
  DataPlan data = {};
  Ema::Options ema = {};
  SamplePlan samples = {};
  ControlPlan control = {};

  const Schedule& schedule() const { return exchange.schedule; }
  const RolePlan& role(Role role) const {
    return role == GENERATOR ? generator : discriminator;
  }
};

// `rollbacks` counts the returns to a checkpoint after a divergence. Each
// changes the random numbers, to avoid the same divergence.
RunPlan MakeRunPlan(const EffectiveRunConfig& config, int64_t rollbacks = 0);

// Returns `plan` with the devices of the worker at `position` on this host.
RunPlan WithDevices(RunPlan plan, int position);

ExchangeOptions ExchangeAt(const RunPlan& plan, const EpochPlace& place);

}  // namespace gandem
