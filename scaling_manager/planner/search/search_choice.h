// SPDX-License-Identifier: Apache-2.0
//
// What the search for a plan decides of a run; everything else stays as the
// recipe has it.
//
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
  int64_t micro_batch = 0;  // 0: all of a rank's batch
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
  int64_t average_every = 0;  // AVERAGE_STATE; 0: the recipe's sync
  WorkerSpread spread = WorkerSpread::kDiscriminatorsFirst;

  auto operator<=>(const SearchChoice&) const = default;
};

// The choice that a config is.
SearchChoice ChoiceAsItIs(const RunConfig& config, bool colocated);

// `batch` images of the recipe as the choice has them.
int64_t ScaledBatch(int64_t batch, int doublings);

// Not validated. Its rounds are those in which as many images are trained on as
// in the recipe's.
RunConfig ConfigOf(const RunConfig& recipe, const SearchChoice& choice);

// "colocated, 2 threads, lag 0", "1 G + 2 D, FUSED, lag 1, micro-batch 16 + 0":
// what differs from `base` is named.
std::string NameOf(const RunConfig& recipe, const SearchChoice& choice,
                   const SearchChoice& base);

// Of the machines, where a worker is given cores (CPU) or a GPU.
int NumDevices(const Machines& machines);

// So many workers of `threads` threads there may be, at least 1 if one was
// placed.
int MostWorkers(const Machines& machines, int threads);

// Where each worker runs. No workers: they do not fit.
Placement PlaceWorkers(const Machines& machines, const SearchChoice& choice);

}  // namespace gandem
