// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/config/run_config.h"
#include "common/config/schedule_limits.h"
#include "common/config/validate_parts.h"

namespace gandem {
namespace {

// Is a batch of the role computed in parts that can be compared with the whole?
bool HasParts(const RoleConfig& role) {
  const int64_t workers = std::max(role.workers(), 1);
  const int64_t slice = std::max<int64_t>(1, role.batch_size() / workers);
  const int64_t micro_batch = role.micro_batch();
  const bool sums = workers > 1 && role.sync().mode() == SyncConfig::ACCUMULATE;
  return sums || StepBatches(role) > 1 ||
         (micro_batch > 0 && micro_batch < slice);
}

}  // namespace

void CheckNoiseScale(const RunConfig& config, Faults& faults) {
  const int64_t every = config.control().noise_scale_every_rounds();
  const int64_t metrics = config.control().metrics_every_rounds();
  if (!faults.CheckRange("control.noise_scale_every_rounds", every, 0,
                         kMaxRounds) ||
      every == 0) {
    return;
  }
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
