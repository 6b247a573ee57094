// SPDX-License-Identifier: Apache-2.0
//
// Loss scaling for float16 (Micikevicius et al. 2018, section 3.2) with the
// rules of torch.amp.GradScaler. The loss is multiplied by a scale to keep
// small gradients from becoming 0, and gradients are divided by the scale
// before use. An update with a gradient that is not finite is skipped and the
// scale decreases; after growth_interval consecutive updates the scale grows.
//
//   scaler.Scale(loss).backward();       // for each micro-batch
//   const bool found_inf = scaler.Unscale(parameters);
//   if (!found_inf) GANDEM_RETURN_IF_ERROR(optimizer.Step());
//   scaler.Update(found_inf);
//
//
// Owner: the role, one per optimizer. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "training/state/tensors_by_name.h"

namespace gandem {

class GradientScaler {
 public:
  struct Options {
    double initial_scale = 65536;
    double growth_factor = 2;
    double backoff_factor = 0.5;
    int64_t growth_interval = 2000;
  };

  explicit GradientScaler(Options options);

  // Multiplies a loss, or the gradient of backward()'s root, by the scale.
  at::Tensor Scale(const at::Tensor& loss) const;
  // Divides all gradients of `parameters` in place. Returns true if one is not
  // finite; the update must then be skipped. A fleet's gradients are sums over
  // the ranks, so all ranks skip the same updates.
  bool Unscale(const std::vector<at::Tensor>& parameters) const;
  // Ends a step and sets the scale of the next one.
  void Update(bool found_inf);

  double scale() const;
  int64_t skipped() const;  // skipped updates since the start of the run
  // Returns whether a lower scale cannot help: gradients up to 4e9 fit float16.
  bool IsExhausted() const { return scale() < kLeastScale; }

  // The tensors share the scaler's memory, like those of Optimizer::State().
  TensorsByName State() const;

 private:
  static constexpr double kLeastScale = 0x1p-16;

  const Options options_;
  at::Tensor scale_;           // double
  at::Tensor growth_tracker_;  // int64: updates since the scale last changed
  at::Tensor skipped_;         // int64
};

}  // namespace gandem
