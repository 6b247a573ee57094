// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/config/field_ranges.h"
#include "common/config/fused_feedback.h"
#include "common/config/run_config.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

bool Averages(const RoleConfig& role) {
  return role.workers() > 1 && role.sync().mode() == SyncConfig::AVERAGE_STATE;
}

void CheckAverages(const std::string& name, const RoleConfig& role,
                   Faults& faults) {
  if (role.sync().wire() != SyncConfig::EXACT) {
    faults.Add(
        absl::StrCat(name,
                     ".sync.wire rounds gradients, and AVERAGE_STATE sends "
                     "parameters: set ",
                     name, ".sync.wire=EXACT"));
  }
  if (role.precision() == RoleConfig::FLOAT16 ||
      role.precision() == RoleConfig::AUTO) {
    faults.Add(absl::StrCat(
        name, ".precision ", RoleConfig::Precision_Name(role.precision()),
        " has a loss scale, which AVERAGE_STATE would let differ between "
        "workers: choose another precision, or ",
        name, ".sync.mode=ACCUMULATE"));
  }
}

void CheckFleetRole(const std::string& name, const RoleConfig& role,
                    Faults& faults) {
  const SyncConfig& sync = role.sync();
  const auto check_part = [&](absl::string_view field, int64_t value) {
    if (value <= std::max<int64_t>(role.batch_size(), 1)) return;
    faults.Add(absl::StrCat(name, ".", field, " ", value,
                            " is more than the images of a batch, ",
                            role.batch_size()));
  };
  check_part("workers", role.workers());
  check_part("micro_batch", role.micro_batch());
  const FieldRange images = RangeOf<RoleConfig>("batch_size");
  if (images.Has(role.batch_size()) &&
      RangeOf<SyncConfig>("interval").Has(sync.interval())) {
    CheckWithin(images, name + ".batch_size times " + name + ".sync.interval",
                StepBatch(role), faults);
  }
  if (sync.batch_norm() && role.network().has_own()) {
    faults.Add(absl::StrCat(
        name,
        ".sync.batch_norm is for gandem's own layers, not for networks of "
        "yours: set ",
        name, ".sync.batch_norm=false"));
  }
  if (sync.collective() == SyncConfig::NCCL && role.device() == "cpu") {
    faults.Add(
        absl::StrCat(name, ".sync.collective NCCL sums between GPUs: set ",
                     name, ".device=cuda, or ", name, ".sync.collective=RING"));
  }
  if (Averages(role)) CheckAverages(name, role, faults);
}

// Checkpoints need rounds after which all ranks have equal state.
void CheckAgreement(const RunConfig& config, Faults& faults) {
  const int64_t rounds = RoundsToAgreement(config);
  if (rounds == 1) return;
  const auto check = [&](absl::string_view field, int64_t value) {
    if (value % rounds == 0) return;
    faults.Add(absl::StrCat(
        field, " ", value, " is no multiple of the ", rounds,
        " rounds after which AVERAGE_STATE has one state to save"));
  };
  check("rounds", config.rounds());
  check("checkpoint.every_rounds", config.checkpoint().every_rounds());
  if (StepsToAgreement(config.discriminator()) > 1 &&
      config.schedule().lag() >= 2) {
    faults.Add(
        "discriminator.sync.mode AVERAGE_STATE with an interval needs "
        "schedule.lag <= 1: checkpoints of a larger lag have older critics, "
        "and those differ between workers");
  }
}

// After a worker's death any other state is used, so all must be equal.
void CheckOneState(const std::string& name, const RoleConfig& role,
                   Faults& faults) {
  if (StepsToAgreement(role) == 1) return;
  faults.Add(absl::StrCat(
      name,
      ".sync.mode AVERAGE_STATE with an interval lets workers differ, and "
      "schedule.consistency BOUNDED wants any one to stand for all: set ",
      name, ".sync.interval=1, or EXACT"));
}

// Refuses losses and penalties that need all ranks in every step.
void CheckFleetWholeBatch(const RunConfig& config, Faults& faults) {
  const RoleConfig& discriminator = config.discriminator();
  const bool averages = Averages(discriminator);
  const bool bounded =
      config.schedule().consistency() == ScheduleConfig::BOUNDED;
  if (discriminator.workers() == 1 || (!averages && !bounded)) return;
  const PenaltyConfig& penalties = config.penalties();
  const auto refuse = [&](absl::string_view field, double weight) {
    if (weight == 0) return;
    faults.Add(absl::StrCat(
        "penalties.", field, " looks at all images of a batch: set ",
        averages ? "discriminator.sync.mode=ACCUMULATE"
                 : "schedule.consistency=EXACT",
        ", discriminator.workers=1, or penalties.", field, "=0"));
  };
  refuse("dragan", penalties.dragan());
  refuse("lecam", penalties.lecam());
}

// --- sync.batch_norm: the workers of a role go through every pass together ---

// Names for messages about `field`, which affects the workers of `name`. Each
// worker takes a slice of the batches of `batch_name` in micro-batches of its
// own role.
struct Synced {
  std::string field;
  std::string name;
  const RoleConfig& role;
};

void CheckEqualPasses(const Synced& synced, const std::string& batch_name,
                      const RoleConfig& batch_role, Faults& faults) {
  const int64_t workers = synced.role.workers();
  const int64_t images = batch_role.batch_size();
  const int64_t micro_batch = synced.role.micro_batch();
  const auto passes = [&](int64_t slice) {
    return micro_batch <= 0 ? std::min<int64_t>(slice, 1)
                            : (slice + micro_batch - 1) / micro_batch;
  };
  const int64_t least = passes(images / workers);
  const int64_t most = passes((images + workers - 1) / workers);
  if (least == most) return;
  const int64_t multiple = images / workers * workers;
  faults.Add(absl::StrCat(
      synced.field, " needs as many forward passes of every ", synced.name,
      " worker, but of ", images, " images ", workers, " workers make ", least,
      " to ", most, ": set ", batch_name, ".batch_size to ",
      multiple > 0 ? absl::StrCat(multiple, " or ") : "", multiple + workers,
      synced.role.micro_batch() > 0 && least > 0
          ? absl::StrCat(", or another ", synced.name, ".micro_batch")
          : ""));
}

void CheckSynced(const Synced& synced, const RunConfig& config,
                 Faults& faults) {
  if (Averages(synced.role)) {
    faults.Add(absl::StrCat(
        synced.field, " needs all ", synced.name,
        " workers at one state, and AVERAGE_STATE lets them part: set ",
        synced.name, ".sync.mode=ACCUMULATE, or ", synced.field, "=false"));
  }
  if (config.schedule().consistency() == ScheduleConfig::BOUNDED) {
    faults.Add(absl::StrCat(
        synced.field, " needs all ", synced.name,
        " workers in every pass, and BOUNDED goes on without one: set "
        "schedule.consistency=EXACT, or ",
        synced.field, "=false"));
  }
  CheckEqualPasses(synced, synced.name, synced.role, faults);
}

// Critics need equal numbers of attempts, but a loss scale adds retries.
void CheckSyncedOverflow(const std::string& field, const RunConfig& config,
                         Faults& faults) {
  const auto precision = config.discriminator().precision();
  if (precision != RoleConfig::FLOAT16 && precision != RoleConfig::AUTO) return;
  faults.Add(absl::StrCat(
      field, " needs as many backward passes of every critic, and ",
      RoleConfig::Precision_Name(precision),
      " tries until nothing overflows: choose another "
      "discriminator.precision, or ",
      field, "=false"));
}

// Critics process batches of the generator's workers. With FUSED they process
// the discriminator's batches, which are checked elsewhere.
void CheckSyncedCritic(const std::string& field, const RunConfig& config,
                       Faults& faults) {
  if (config.schedule().feedback() == ScheduleConfig::FUSED) {
    if (config.discriminator().workers() > 1) {
      CheckSyncedOverflow(field, config, faults);
    }
    return;
  }
  if (AnswersImages(config.schedule().feedback())) {
    faults.Add(absl::StrCat(
        field, " needs a whole batch at a time, and ",
        ScheduleConfig::FeedbackMode_Name(config.schedule().feedback()),
        " judges images as they come from each worker: set "
        "schedule.feedback=SNAPSHOT, or ",
        field, "=false"));
    return;
  }
  const RoleConfig& generator = config.generator();
  if (generator.workers() == 1) return;
  // With batch_norm these faults are already reported.
  if (!generator.sync().batch_norm()) {
    CheckSynced({.field = field, .name = "generator", .role = generator},
                config, faults);
  }
  CheckSyncedOverflow(field, config, faults);
}

// The layers of Python networks are unknown.
void CheckPythonBatchNorm(const std::string& name, const RoleConfig& role,
                          Faults& faults) {
  if (!role.network().has_python() || !role.sync().batch_norm()) return;
  faults.Add(absl::StrCat(name,
                          ".sync.batch_norm reaches the layers of built-in "
                          "networks only: set it to false with ",
                          name, ".network.python"));
}

void CheckFleetBatchNorm(const RunConfig& config, Faults& faults) {
  CheckPythonBatchNorm("generator", config.generator(), faults);
  CheckPythonBatchNorm("discriminator", config.discriminator(), faults);
  const RoleConfig& generator = config.generator();
  const RoleConfig& discriminator = config.discriminator();
  const bool has_fleet = generator.workers() > 1 || discriminator.workers() > 1;
  if (generator.workers() > 1 && generator.sync().batch_norm()) {
    const Synced synced = {.field = "generator.sync.batch_norm",
                           .name = "generator",
                           .role = generator};
    CheckSynced(synced, config, faults);
    if (config.schedule().image_source() == ScheduleConfig::FRESH) {
      CheckEqualPasses(synced, "discriminator", discriminator, faults);
    }
  }
  if (!has_fleet || !discriminator.sync().batch_norm() ||
      !DiscriminatorHasBatchNorm(discriminator.network())) {
    return;
  }
  const std::string field = "discriminator.sync.batch_norm";
  if (discriminator.workers() > 1) {
    CheckSynced(
        {.field = field, .name = "discriminator", .role = discriminator},
        config, faults);
  }
  CheckSyncedCritic(field, config, faults);
}

// --- control.noise_scale_every_rounds ---

// Returns whether parts of a batch can be compared with the whole batch.
bool HasParts(const RoleConfig& role) {
  const int64_t workers = std::max(role.workers(), 1);
  const int64_t slice = std::max<int64_t>(1, role.batch_size() / workers);
  const int64_t micro_batch = role.micro_batch();
  const bool sums = workers > 1 && role.sync().mode() == SyncConfig::ACCUMULATE;
  return sums || StepBatches(role) > 1 ||
         (micro_batch > 0 && micro_batch < slice);
}

}  // namespace

void CheckFleets(const RunConfig& config, Faults& faults) {
  CheckFleetRole("generator", config.generator(), faults);
  CheckFleetRole("discriminator", config.discriminator(), faults);
  CheckAgreement(config, faults);
  CheckFleetWholeBatch(config, faults);
  CheckFleetBatchNorm(config, faults);
  if (config.schedule().consistency() == ScheduleConfig::BOUNDED) {
    CheckOneState("generator", config.generator(), faults);
    CheckOneState("discriminator", config.discriminator(), faults);
  }
}

void CheckNoiseScale(const RunConfig& config, Faults& faults) {
  const int64_t every = config.control().noise_scale_every_rounds();
  const int64_t metrics = config.control().metrics_every_rounds();
  if (every <= 0) return;
  if (metrics > 0 && every % metrics != 0) {
    faults.Add(absl::StrCat("control.noise_scale_every_rounds ", every,
                            " is no multiple of control.metrics_every_rounds ",
                            metrics, ": rounds in between leave no record"));
  }
  if (!HasParts(config.generator()) && !HasParts(config.discriminator())) {
    faults.Add(
        "control.noise_scale_every_rounds compares parts of a batch with the "
        "whole, and both roles compute theirs as one: set micro_batch or "
        "workers of generator or discriminator");
  }
}

}  // namespace gandem
