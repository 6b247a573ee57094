// SPDX-License-Identifier: Apache-2.0
//
// What StyleGAN2 is made of ("Analyzing and improving the image quality of
// StyleGAN", Karras et al. 2020). Learning rates are equalized: weights start
// as N(0, 1), and a layer multiplies them by 1/sqrt(fan in).
//
// Owner: the network that registered it. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <memory>

#include "models/layers/drawing_layer.h"
#include "models/layers/layer.h"

namespace gandem {

// Leaky ReLU of slope 0.2, times `gain`. May overwrite its argument.
at::Tensor ScaledLeakyRelu(at::Tensor input, double gain);
// ... times sqrt(2), which keeps the variance.
at::Tensor ScaledLeakyRelu(at::Tensor input);

class EqualLinear : public Layer {
 public:
  struct Options {
    int64_t in_features = 0;   // required, >= 1
    int64_t out_features = 0;  // required, >= 1
    // Its parameters are multiplied by it and begin divided by it, so that they
    // learn that much slower.
    double rate = 1;
    double first_bias = 0;
  };
  explicit EqualLinear(const Options& options);
  // NI -> NO
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  double init_gain() const override;
  double first_bias() const override { return options_.first_bias; }

 private:
  const Options options_;
  const at::Tensor weight_;
  const at::Tensor bias_;
};

class EqualConv : public Layer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, >= 1
    int64_t out_channels = 0;  // required, >= 1
    int64_t kernel = 3;        // 1 or 3; the size stays
    bool bias = true;
    bool down = false;  // half the height and width, after a blur
  };
  explicit EqualConv(const Options& options);
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;
  double init_gain() const override;

 private:
  const Options options_;
  const at::Tensor weight_;
  at::Tensor bias_;  // undefined: none
};

// A convolution of which each image scales the input channels by its style
// (section 2.2 of the paper), and after that the output channels to a variance
// of 1, unless it makes an image. Scales activations, not weights: the same
// numbers, and one convolution for all images.
class ModulatedConv : public ConditionalLayer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, >= 1
    int64_t out_channels = 0;  // required, >= 1
    int64_t style_dim = 0;     // required, >= 1
    int64_t kernel = 3;        // 1 or 3; the size stays
    bool up = false;           // kernel 3: twice the height and width, blurred
    bool demodulate = true;
  };
  explicit ModulatedConv(const Options& options);
  // NCHW, NS -> NCHW; of the input, N may be 1.
  at::Tensor ForwardGiven(const at::Tensor& input_NCHW,
                          const at::Tensor& style_NS,
                          ForwardMode mode) override;
  double init_gain() const override;

 private:
  at::Tensor Convolve(const at::Tensor& input_NCHW) const;

  const Options options_;
  const std::shared_ptr<EqualLinear> style_;
  const at::Tensor weight_;
  const at::Tensor bias_;
};

// Adds N(0, strength^2) to every pixel, the same to all its channels: keyed
// draws (drawing_layer.h), or in kEvaluate the same noise for all images unless
// set_draws_always.
class NoiseInput : public DrawingLayer {
 public:
  explicit NoiseInput(int64_t size);  // height and width
  at::Tensor ForwardGiven(const at::Tensor& input_NCHW, const at::Tensor& place,
                          ForwardMode mode) override;

  void set_draws_always(bool always) { draws_always_ = always; }

 private:
  const at::Tensor strength_;
  const at::Tensor noise_const_;
  bool draws_always_ = false;
};

// One channel more: the deviation of groups of images, of `group` each or of
// the largest divisor of N below it, mean over channels and pixels. Of images i
// of a group, i modulo their number is the same.
at::Tensor WithDeviation(const at::Tensor& input_NCHW, int64_t group);

}  // namespace gandem
