// SPDX-License-Identifier: Apache-2.0
//
// The update that ends a step: the fleet's gradients, clipping and the
// optimizer, the fleet's agreement. What both roles do, between their backward
// passes and their next version.
//
// Owner: the role; all that it is given outlives it.
// Thread safety: one compute thread.
// Errors: those of GradientSynchronizer and UpdateNetwork.
#pragma once

#include <torch/nn/module.h>

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "training/fleet/gradient_synchronizer.h"
#include "training/optimizers/gradient_scaler.h"
#include "training/optimizers/optimizer.h"
#include "training/roles/training_role.h"

namespace gandem {

class StepUpdate {
 public:
  struct Parts {
    const torch::nn::Module* network = nullptr;
    Optimizer* optimizer = nullptr;
    GradientScaler* scaler = nullptr;              // null: no loss scale
    GradientSynchronizer* synchronizer = nullptr;  // null: the only worker
    RoundTimer* timer = nullptr;
  };

  StepUpdate(const Parts& parts, double clip_gradient_norm)
      : parts_(parts), clip_gradient_norm_(clip_gradient_norm) {}

  // The next backward pass is the step's last.
  void ExpectLastBackward();
  // Update number `step`, counted from 1; `before` is called once, when the
  // gradients are there and nothing has changed yet.
  //   DEADLINE_EXCEEDED  waits for other ranks: call again.
  absl::Status Run(int64_t step, absl::FunctionRef<void()> before,
                   absl::Time deadline);

  // Has taken an update that the other ranks have not agreed to yet.
  bool is_updated() const { return is_updated_; }
  // Of the last update, before clipping; 0: it was skipped.
  double gradient_norm() const { return gradient_norm_; }

 private:
  const Parts parts_;
  const double clip_gradient_norm_;
  bool is_updated_ = false;
  double gradient_norm_ = 0;
};

}  // namespace gandem
