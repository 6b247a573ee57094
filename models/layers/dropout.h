// SPDX-License-Identifier: Apache-2.0
//
// Dropout (Srivastava et al. 2014): in training a share `rate` of the values is
// 0 and the others are divided by 1 - rate. Masks are keyed draws: an image's
// row is a function of the layer's key and of its place (Condition::place). The
// key is a buffer that InitializeParameters draws and nothing changes, so a
// copy of the network (a critic, a resumed run) has the same masks, and ranks
// and micro-batches have those of one pass over the whole batch.
//
//   kTrain, kFrozen  the masks of the place
//   kEvaluate        passes everything
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include "models/layers/layer.h"

namespace gandem {

// What Dropout is told of a pass: where its masks are.
at::Tensor PlaceOf(const Condition& condition);

class Dropout : public ConditionalLayer {
 public:
  explicit Dropout(double rate);  // [0, 1)

  // input: [N, ...]; place: that of PlaceOf. Undefined: a default Condition's.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& place,
                          ForwardMode mode) override;

  using torch::nn::Module::to;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, torch::Dtype dtype,
          bool non_blocking = false) override;

 private:
  const double rate_;
  at::Tensor mask_key_;  // int64, whatever the module is converted to
};

}  // namespace gandem
