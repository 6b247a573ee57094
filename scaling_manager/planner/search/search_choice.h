// SPDX-License-Identifier: Apache-2.0
//
// Settings that the search for a plan chooses. All others stay as in the
// recipe.
// Thread safety: pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace gandem {

// Workers that get the fastest hosts. Hosts are filled one after the other.
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

// Returns the choice that corresponds to a config.
SearchChoice ChoiceAsItIs(const RunConfig& config, bool colocated);

// Scales `batch` images of the recipe to the batches of a choice.
int64_t ScaledBatch(int64_t batch, int doublings);

// Returns a choice's config, not validated, for as many images as the recipe's.
RunConfig ConfigOf(const RunConfig& recipe, const SearchChoice& choice);

// Returns a name with the settings that differ from `base`, such as "colocated,
// 2 threads, lag 0" or "1 G + 2 D, FUSED, lag 1, micro-batch 16 + 0".
std::string NameOf(const RunConfig& recipe, const SearchChoice& choice,
                   const SearchChoice& base);

// Returns the number of cores (CPU) or GPUs of the machines.
int NumDevices(const Machines& machines);

// Returns the largest number of workers with `threads` threads each.
int MostWorkers(const Machines& machines, int threads);

// Returns the host of each worker, or no workers if they do not fit.
Placement PlaceWorkers(const Machines& machines, const SearchChoice& choice);

}  // namespace gandem
