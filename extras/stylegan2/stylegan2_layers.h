// SPDX-License-Identifier: Apache-2.0
//
// Layers of StyleGAN2 ("Analyzing and improving the image quality of StyleGAN",
// Karras et al. 2020). Learning rates are equalized: weights start as N(0, 1),
// and a layer multiplies them by 1/sqrt(fan in).
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
// The same with gain sqrt(2), which keeps the variance.
at::Tensor ScaledLeakyRelu(at::Tensor input);

class EqualLinear : public Layer {
 public:
  struct Options {
    int64_t in_features = 0;   // required, >= 1
    int64_t out_features = 0;  // required, >= 1
    // Multiplies the parameters, whose initial values are divided by it. So
    // they learn slower by this factor.
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
    int64_t kernel = 3;        // 1 or 3, padded
    bool bias = true;
    bool down = false;  // blurs, then halves height and width
  };
  explicit EqualConv(const Options& options);
  at::Tensor forward(const at::Tensor& input_NCHW, ForwardMode mode) override;
  double init_gain() const override;

 private:
  const Options options_;
  const at::Tensor weight_;
  at::Tensor bias_;  // undefined without bias
};

// A convolution that scales its input channels by each image's style (section
// 2.2 of the paper) and, unless it outputs the image, its output channels to a
// variance of 1. It scales activations instead of weights, so one convolution
// serves all images, with the same result.
class ModulatedConv : public ConditionalLayer {
 public:
  struct Options {
    int64_t in_channels = 0;   // required, >= 1
    int64_t out_channels = 0;  // required, >= 1
    int64_t style_dim = 0;     // required, >= 1
    int64_t kernel = 3;        // 1 or 3, padded
    bool up = false;           // doubles height and width, then blurs
    bool demodulate = true;
  };
  explicit ModulatedConv(const Options& options);
  // NCHW, NS -> NCHW. The input's N may be 1.
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

// Adds N(0, strength^2) to every pixel, equal in all its channels. The noise is
// keyed draws (drawing_layer.h). In kEvaluate all images get the same noise,
// unless set_draws_always.
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

// Appends a channel: the standard deviation over a group of images, as the mean
// over channels and pixels. The group size is the largest divisor of N that is
// at most `group`; with G groups, image i is in group i modulo G.
at::Tensor WithDeviation(const at::Tensor& input_NCHW, int64_t group);

}  // namespace gandem
