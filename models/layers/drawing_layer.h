// SPDX-License-Identifier: Apache-2.0
//
// Layers that draw: dropout here, and others (noise inputs). A draw for an
// image is a function of the layer's key and of the image's place
// (Condition::place). The key is a buffer that InitializeParameters draws and
// nothing changes. A copy of the network (a critic, a resumed run) therefore
// draws the same, and ranks and micro-batches draw the same as one pass over
// the whole batch.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "models/layers/layer.h"

namespace gandem {

// Suffix of the names of all keys.
inline constexpr absl::string_view kDrawKeySuffix = "_key";

// The place of a pass's images (Condition::place) as a tensor for layers that
// draw.
at::Tensor PlaceOf(const Condition& condition);

class DrawingLayer : public ConditionalLayer {
 public:
  using torch::nn::Module::to;
  void to(torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, torch::Dtype dtype,
          bool non_blocking = false) override;

  void set_salt(uint64_t salt) { salt_ = salt; }

 protected:
  explicit DrawingLayer(const std::string& key_name);

  // The stream of row `row` of a pass at `place`, a result of PlaceOf. An
  // undefined `place` stands for that of a default Condition.
  PhiloxStream StreamOf(const at::Tensor& place, int64_t row) const;

 private:
  at::Tensor key_;  // int64, whatever the module is converted to
  uint64_t salt_ = 0;
};

// Dropout (Srivastava et al. 2014): in training a share `rate` of the values is
// 0 and the others are divided by 1 - rate. An image's mask is a keyed draw.
//
//   kTrain, kFrozen  the masks of the place
//   kEvaluate        passes everything
class Dropout : public DrawingLayer {
 public:
  explicit Dropout(double rate);  // [0, 1)

  // input: [N, ...]; place: as in StreamOf.
  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& place,
                          ForwardMode mode) override;

 private:
  // A tensor of the shape of `input`. A value is 0 with probability `rate` and
  // 1 / (1 - rate) otherwise.
  at::Tensor DrawMask(const at::Tensor& input, const at::Tensor& place) const;

  const double rate_;
};

// Makes the layers of `network` draw as with other keys, or, if `salt` is 0,
// with their own keys. Unlike keys, the salt is no part of the network's state:
// set it again on a copy.
void SaltDraws(torch::nn::Module& network, uint64_t salt);

}  // namespace gandem
