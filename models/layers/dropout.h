// SPDX-License-Identifier: Apache-2.0
//
// Dropout (Srivastava et al. 2014): in training a share `rate` of the values is
// 0 and the others are divided by 1 - rate. An image's mask is a keyed draw
// (drawing_layer.h).
//
//   kTrain, kFrozen  the masks of the place
//   kEvaluate        passes everything
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include "models/layers/drawing_layer.h"

namespace gandem {

class Dropout : public DrawingLayer {
 public:
  explicit Dropout(double rate);  // [0, 1)

  // input: [N, ...]; place: that of PlaceOf. Undefined: a default Condition's.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& place,
                          ForwardMode mode) override;

 private:
  // A tensor of the shape of `input`: 0 with probability `rate`, else
  // 1 / (1 - rate).
  at::Tensor DrawMask(const at::Tensor& input, const at::Tensor& place) const;

  const double rate_;
};

}  // namespace gandem
