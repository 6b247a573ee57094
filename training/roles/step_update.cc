// SPDX-License-Identifier: Apache-2.0
#include "training/roles/step_update.h"

#include "common/status.h"
#include "common/trace/trace.h"
#include "training/optimizers/gradients.h"

namespace gandem {

void StepUpdate::ExpectLastBackward() {
  if (parts_.synchronizer != nullptr) parts_.synchronizer->ExpectLastBackward();
}

absl::Status StepUpdate::Run(int64_t step, absl::FunctionRef<void()> before,
                             absl::Time deadline) {
  if (!is_updated_) {
    if (parts_.synchronizer != nullptr) {
      GANDEM_RETURN_IF_ERROR(parts_.timer->Timed(RoundTimer::kSync, [&] {
        return parts_.synchronizer->Reduce(deadline);
      }));
    }
    const TraceSpan span("update");
    before();
    GANDEM_ASSIGN_OR_RETURN(gradient_norm_,
                            UpdateNetwork(*parts_.network, clip_gradient_norm_,
                                          *parts_.optimizer, parts_.scaler));
    is_updated_ = true;
  }
  if (parts_.synchronizer != nullptr) {
    GANDEM_RETURN_IF_ERROR(parts_.timer->Timed(RoundTimer::kSync, [&] {
      return parts_.synchronizer->AfterUpdate(step, deadline);
    }));
  }
  is_updated_ = false;
  return absl::OkStatus();
}

}  // namespace gandem
