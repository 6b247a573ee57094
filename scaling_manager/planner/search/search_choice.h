// SPDX-License-Identifier: Apache-2.0
//
// The settings that the search for a plan chooses; everything else stays as in
// the recipe.
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// Which workers get the fastest hosts; hosts are filled one after the other.
enum class WorkerSpread { kDiscriminatorsFirst, kGeneratorsFirst, kMixed };

struct RoleChoice {
  int workers = 1;
  int threads = 1;
  int64_t micro_batch = 0;  // 0: the whole batch of the rank
  RoleConfig::Precision precision = RoleConfig::FLOAT32;
  MemoryLayout layout = NCHW;

  auto operator<=>(const RoleChoice&) const = default;
};

struct SearchChoice {
  bool colocated = false;
  RoleChoice generator = {};
  RoleChoice discriminator = {};
  ScheduleConfig::FeedbackMode feedback = ScheduleConfig::SNAPSHOT;
  int64_t lag = 0;
  int batch_doublings = 0;    // the recipe's batches times 2 to this power
  int64_t average_every = 0;  // interval of AVERAGE_STATE; 0: the recipe's sync
  WorkerSpread spread = WorkerSpread::kDiscriminatorsFirst;

  auto operator<=>(const SearchChoice&) const = default;
};

// The choice that corresponds to a config.
SearchChoice ChoiceAsItIs(const RunConfig& config, bool colocated);

// `batch` images of the recipe, scaled to the batches of a choice.
int64_t ScaledBatch(int64_t batch, int doublings);

// The config of a choice, not validated. Its rounds train on as many images as
// the recipe's.
RunConfig ConfigOf(const RunConfig& recipe, const SearchChoice& choice);

// Name with the settings that differ from `base`, for example "colocated, 2
// threads, lag 0" or "1 G + 2 D, FUSED, lag 1, micro-batch 16 + 0".
std::string NameOf(const RunConfig& recipe, const SearchChoice& choice,
                   const SearchChoice& base);

// Number of devices of the machines: cores (CPU) or GPUs.
int NumDevices(const Machines& machines);

// Largest number of workers with `threads` threads, at least 1 if one was
// placed.
int MostWorkers(const Machines& machines, int threads);

// Host of each worker; no workers if they do not fit.
Placement PlaceWorkers(const Machines& machines, const SearchChoice& choice);

}  // namespace gandem
