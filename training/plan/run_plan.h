// SPDX-License-Identifier: Apache-2.0
//
// The plan of a run: all that its parts take from the config, each in the form
// in which it takes it. Made once, where an EffectiveRunConfig comes in (a
// worker's run epoch, a test), and handed down in parts. No function below that
// sees a RunConfig; messages of single parts (NetworkConfig, OptimizerConfig,
// DataConfig) stay as they are.
//
// Owner: values; they never change once made. Thread safety: pure functions.
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

// A worker's place in a run epoch.
struct EpochPlace {
  int rank = 0;  // among the workers of its role that take part
  int64_t run_epoch = 0;
  int64_t incarnation = 0;
  int64_t first_round = 0;
  int64_t saved_rounds = 0;  // in the newest complete checkpoint
};

struct RolePlan {
  NetworkPlan network = {};
  int workers = 1;
  int64_t step_batch = 1;    // images of an update, over the whole fleet
  int64_t step_batches = 1;  // batches that they are
  // Updates from one at which all workers are at the same state to the next.
  int64_t steps_to_agreement = 1;
  std::vector<std::string> freeze = {};  // patterns of parameters
  OptimizerConfig optimizer = {};
  OptimizerUse optimizer_use = {};
  double clip_gradient_norm = std::numeric_limits<double>::infinity();
  GradientScaler::Options loss_scale = {};  // of float16
  GradientSynchronizer::Options sync = {};  // but for what a rank adds
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
  absl::Duration poll;  // a waiting role looks around as often as that
};

struct RunPlan {
  // Of noise, augmentation and the points of penalties: that of the run, until
  // it is rolled back.
  uint64_t noise_seed = 0;
  int64_t rounds = 0;
  int64_t checkpoint_every_rounds = 0;  // 0: only at the end and at a cut
  ExchangeOptions exchange = {};        // but for the place; see ExchangeAt
  ObjectiveOptions objective = {};
  // The generator's loss contains the critic's logits of real images, which are
  // not those of a training pass.
  bool judges_with_real_images = false;
  RolePlan generator = {};
  RolePlan discriminator = {};
  DataPlan data = {};
  Ema::Options ema = {};
  SamplePlan samples = {};
  ControlPlan control = {};

  const Schedule& schedule() const { return exchange.schedule; }
  // Of a generator or a discriminator.
  const RolePlan& role(Role role) const {
    return role == GENERATOR ? generator : discriminator;
  }
};

// `rollbacks`: how often the run went back to a checkpoint because it had
// diverged. Each time it goes on with other random numbers, so that it may come
// through.
RunPlan MakeRunPlan(const EffectiveRunConfig& config, int64_t rollbacks = 0);

// `plan` with the devices that a worker at `position` on this host has.
RunPlan WithDevices(RunPlan plan, int position);

// The exchange of a worker at `place`.
ExchangeOptions ExchangeAt(const RunPlan& plan, const EpochPlace& place);

}  // namespace gandem
