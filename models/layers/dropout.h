// SPDX-License-Identifier: Apache-2.0
//
// Dropout (Srivastava et al. 2014): in training a share `rate` of the values is
// 0 and the others are divided by 1 - rate. Masks are keyed draws: row n of
// mask k is a function of the buffer mask_key alone, which InitializeParameters
// draws and every training pass advances, so a copy of the network (a critic,
// a resumed run) has the same masks.
//
//   kTrain     the next mask
//   kFrozen    that of the last training pass; changes nothing
//   kEvaluate  passes everything
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include "models/layers/layer.h"

namespace gandem {

class Dropout : public Layer {
 public:
  explicit Dropout(double rate);  // [0, 1)

  // input: [N, ...]
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;

  using torch::nn::Module::to;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, torch::Dtype dtype,
          bool non_blocking = false) override;

 private:
  const double rate_;
  at::Tensor mask_key_;  // int64, whatever the module is converted to
};

}  // namespace gandem
