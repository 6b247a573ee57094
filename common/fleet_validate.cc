// SPDX-License-Identifier: Apache-2.0
#include "common/fleet_validate.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/run_config.h"

namespace gandem {
namespace {

constexpr int64_t kMaxWorkers = 4096;
constexpr int64_t kMaxInterval = 1024;
constexpr int64_t kMaxStepBatch = 65536;
constexpr int64_t kMaxBucket = int64_t{1} << 30;
constexpr int64_t kMaxSteps = 1'000'000'000;

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

void CheckRole(const std::string& name, const RoleConfig& role,
               Faults& faults) {
  const SyncConfig& sync = role.sync();
  const bool legal =
      faults.CheckRange(name + ".workers", role.workers(), 1, kMaxWorkers);
  if (legal && role.workers() > role.batch_size()) {
    faults.Add(absl::StrCat(name, ".workers ", role.workers(),
                            " is more than the images of a batch, ",
                            role.batch_size()));
  }
  if (faults.CheckRange(name + ".sync.interval", sync.interval(), 1,
                        kMaxInterval) &&
      role.batch_size() <= kMaxStepBatch) {
    faults.CheckRange(name + ".batch_size times " + name + ".sync.interval",
                      StepBatch(role), 1, kMaxStepBatch);
  }
  faults.CheckRange(name + ".sync.bucket_bytes", sync.bucket_bytes(), 1,
                    kMaxBucket);
  faults.CheckRange(name + ".sync.divergence_check_interval",
                    sync.divergence_check_interval(), 0, kMaxSteps);
  if (sync.collective() == SyncConfig::NCCL && role.device() == "cpu") {
    faults.Add(
        absl::StrCat(name, ".sync.collective NCCL sums between GPUs: set ",
                     name, ".device=cuda, or ", name, ".sync.collective=RING"));
  }
  if (Averages(role)) CheckAverages(name, role, faults);
}

// All ranks are at one state at the end of every n-th round; nothing else can
// be saved.
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

// The workers that are left when one dies go on from one worker's state, which
// has to be that of all.
void CheckOneState(const std::string& name, const RoleConfig& role,
                   Faults& faults) {
  if (StepsToAgreement(role) == 1) return;
  faults.Add(absl::StrCat(
      name,
      ".sync.mode AVERAGE_STATE with an interval lets workers differ, and "
      "schedule.consistency BOUNDED wants any one to stand for all: set ",
      name, ".sync.interval=1, or EXACT"));
}

void CheckWholeBatch(const RunConfig& config, Faults& faults) {
  if (config.discriminator().workers() == 1) return;
  const PenaltyConfig& penalties = config.penalties();
  const auto refuse = [&](absl::string_view field, double weight) {
    if (weight == 0) return;
    faults.Add(absl::StrCat("penalties.", field,
                            " looks at all images of a batch: set "
                            "discriminator.workers=1, or penalties.",
                            field, "=0"));
  };
  refuse("dragan", penalties.dragan());
  refuse("lecam", penalties.lecam());
}

}  // namespace

void CheckFleets(const RunConfig& config, Faults& faults) {
  CheckRole("generator", config.generator(), faults);
  CheckRole("discriminator", config.discriminator(), faults);
  CheckAgreement(config, faults);
  CheckWholeBatch(config, faults);
  if (config.schedule().consistency() == ScheduleConfig::BOUNDED) {
    CheckOneState("generator", config.generator(), faults);
    CheckOneState("discriminator", config.discriminator(), faults);
  }
}

}  // namespace gandem
