// SPDX-License-Identifier: Apache-2.0
//
// Layers with random draws, such as dropout and noise inputs. A draw for an
// image is a function of the layer's key and the image's place
// (Condition::place). InitializeParameters draws the key, a constant buffer.
// Copies of the network (critics, resumed runs), ranks and micro-batches
// therefore draw the same values as one pass over the whole batch.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "models/layers/layer.h"

namespace gandem {

inline constexpr absl::string_view kDrawKeySuffix = "_key";

// Returns the place of a pass's images (Condition::place) as a tensor.
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

  // Returns the stream of row `row` of a pass at `place`, a result of PlaceOf.
  // An undefined `place` is that of a default Condition.
  PhiloxStream StreamOf(const at::Tensor& place, int64_t row) const;

 private:
  at::Tensor key_;  // always int64
  uint64_t salt_ = 0;
};

// Dropout (Srivastava et al. 2014): except in kEvaluate, sets a fraction `rate`
// of the values to 0 and divides the others by 1 - rate, by keyed draws.
class Dropout : public DrawingLayer {
 public:
  explicit Dropout(double rate);  // [0, 1)

  at::Tensor ForwardGiven(const at::Tensor& input, const at::Tensor& place,
                          ForwardMode mode) override;

 private:
  // Returns a tensor with the shape of `input`. Values are 0 with probability
  // `rate`, otherwise 1 / (1 - rate).
  at::Tensor DrawMask(const at::Tensor& input, const at::Tensor& place) const;

  const double rate_;
};

// Makes `network` draw as with other keys; with `salt` 0, as with its own. The
// salt is not part of the state and must be set again on copies.
void SaltDraws(torch::nn::Module& network, uint64_t salt);

}  // namespace gandem
