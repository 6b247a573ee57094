// SPDX-License-Identifier: Apache-2.0
//
// Discriminators with known or smooth gradients.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <memory>

#include "models/network.h"
#include "models/torch.h"

namespace gandem::testing {

// D(x) = w . x
class LinearCritic : public Discriminator {
 public:
  explicit LinearCritic(const at::Tensor& weight)
      : weight_(register_parameter("weight", weight.clone())) {}
  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode) override {
    return {.logits = images_NCHW.flatten(1).mv(weight_)};
  }

 private:
  at::Tensor weight_;
};

// D(x) = scale * |x|^2 / 2
class QuadraticCritic : public Discriminator {
 public:
  QuadraticCritic()
      : scale_(register_parameter("scale", torch::ones({}, torch::kFloat64))) {}
  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode) override {
    return {.logits = scale_ * 0.5 * images_NCHW.flatten(1).square().sum(1)};
  }

 private:
  at::Tensor scale_;
};

// D(x) = weight . tanh(kernel * x), `*` a convolution without padding.
class SmoothCritic : public Discriminator {
 public:
  SmoothCritic(const at::Tensor& kernel, const at::Tensor& weight)
      : kernel_(register_parameter("kernel", kernel.clone())),
        weight_(register_parameter("weight", weight.clone())) {}
  Verdict forward(const at::Tensor& images_NCHW, const Condition&,
                  ForwardMode) override {
    return {
        .logits =
            at::tanh(at::conv2d(images_NCHW, kernel_)).flatten(1).mv(weight_)};
  }

 private:
  at::Tensor kernel_;
  at::Tensor weight_;
};

}  // namespace gandem::testing
