// SPDX-License-Identifier: Apache-2.0
#include "training/roles/run_roles.h"

#include "common/monotonic_time.h"
#include "common/status.h"
#include "training/state/catch_torch.h"

namespace gandem {
namespace {

// Advances `role` until it waits or has finished.
absl::StatusOr<AdvanceResult> AdvanceFar(TrainingRole& role,
                                         absl::Duration patience,
                                         const RunRolesOptions& options,
                                         bool& advanced) {
  while (true) {
    if (options.interrupted) GANDEM_RETURN_IF_ERROR(options.interrupted());
    const absl::StatusOr<AdvanceResult> progress =
        role.Advance(patience > absl::ZeroDuration() ? MonotonicNow() + patience
                                                     : absl::InfinitePast());
    GANDEM_RETURN_IF_ERROR(progress.status());
    if (*progress != AdvanceResult::kAdvanced) return progress;
    advanced = true;
  }
}

absl::Status Run(std::span<TrainingRole* const> roles,
                 const RunRolesOptions& options) {
  // A single role may block. Several roles only try in turn, with a short wait
  // (for data or the gate) if none can advance.
  constexpr absl::Duration kShort = absl::Milliseconds(2);
  absl::Duration patience =
      roles.size() == 1 ? options.poll : absl::ZeroDuration();
  while (true) {
    bool advanced = false;
    size_t finished = 0;
    for (TrainingRole* role : roles) {
      const absl::StatusOr<AdvanceResult> progress =
          AdvanceFar(*role, patience, options, advanced);
      GANDEM_RETURN_IF_ERROR(progress.status());
      if (*progress == AdvanceResult::kFinished) ++finished;
    }
    if (finished == roles.size()) return absl::OkStatus();
    if (roles.size() > 1) {
      patience = advanced ? absl::ZeroDuration() : kShort;
    }
  }
}

}  // namespace

absl::Status RunRoles(std::span<TrainingRole* const> roles,
                      const RunRolesOptions& options) {
  return CatchTorch([&] { return Run(roles, options); });
}

}  // namespace gandem
