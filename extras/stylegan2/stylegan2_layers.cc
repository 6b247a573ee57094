// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/stylegan2_layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/autocast.h"
#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kStyleEps = 1e-8;

double RootOf(int64_t fan_in) { return std::sqrt(static_cast<double>(fan_in)); }

at::Tensor PerChannel(const at::Tensor& values_NC) {
  return values_NC.unsqueeze(2).unsqueeze(3);
}

}  // namespace

at::Tensor ScaledLeakyRelu(at::Tensor input, double gain) {
  return LeakyRelu(std::move(input)) * gain;
}

at::Tensor ScaledLeakyRelu(at::Tensor input) {
  return ScaledLeakyRelu(std::move(input), std::sqrt(2));
}

EqualLinear::EqualLinear(const Options& options)
    : options_(options),
      weight_(register_parameter(
          "weight", torch::zeros({options.out_features, options.in_features}))),
      bias_(register_parameter("bias", torch::zeros({options.out_features}))) {}

at::Tensor EqualLinear::forward(const at::Tensor& input, ForwardMode) {
  return WeighedLinear(input, weight_ / init_gain(), bias_ * options_.rate);
}

double EqualLinear::init_gain() const {
  return RootOf(options_.in_features) / options_.rate;
}

EqualConv::EqualConv(const Options& options)
    : options_(options),
      weight_(register_parameter(
          "weight", torch::zeros({options.out_channels, options.in_channels,
                                  options.kernel, options.kernel}))) {
  if (options.bias) {
    bias_ = register_parameter("bias", torch::zeros({options.out_channels}));
  }
}

// A kernel of 1 uses only every other pixel, so only those need a blur.
at::Tensor EqualConv::forward(const at::Tensor& input_NCHW, ForwardMode) {
  const at::Tensor weight = weight_ / init_gain();
  if (!options_.down) {
    return WeighedConvolution(input_NCHW, weight, bias_,
                              {.padding = options_.kernel / 2});
  }
  if (options_.kernel == 1) {
    return WeighedConvolution(SmoothDownsample(input_NCHW), weight, bias_, {});
  }
  return WeighedConvolution(SmoothBlur(input_NCHW, /*padding=*/2), weight,
                            bias_, {.stride = 2});
}

double EqualConv::init_gain() const {
  return RootOf(options_.in_channels * options_.kernel * options_.kernel);
}

ModulatedConv::ModulatedConv(const Options& options)
    : options_(options),
      style_(register_module("affine",
                             std::make_shared<EqualLinear>(EqualLinear::Options{
                                 .in_features = options.style_dim,
                                 .out_features = options.in_channels,
                                 .first_bias = 1}))),
      weight_(register_parameter(
          "weight", torch::zeros({options.out_channels, options.in_channels,
                                  options.kernel, options.kernel}))),
      bias_(register_parameter("bias", torch::zeros({options.out_channels}))) {}

at::Tensor ModulatedConv::Convolve(const at::Tensor& input_NCHW) const {
  if (!options_.up) {
    return at::conv2d(input_NCHW, weight_, /*bias=*/{}, /*stride=*/1,
                      /*padding=*/options_.kernel / 2);
  }
  // The factor 4 makes up for the zeros between the input's pixels.
  return 4 *
         SmoothBlur(at::conv_transpose2d(input_NCHW, weight_.transpose(0, 1),
                                         /*bias=*/{}, /*stride=*/2),
                    /*padding=*/1);
}

at::Tensor ModulatedConv::ForwardGiven(const at::Tensor& input_NCHW,
                                       const at::Tensor& style_NS,
                                       ForwardMode mode) {
  at::Tensor style_NI = style_->forward(style_NS, mode);
  if (!options_.demodulate) style_NI = style_NI / init_gain();
  const at::Tensor output = Convolve(input_NCHW * PerChannel(style_NI));
  if (!options_.demodulate) return output + PerChannel(bias_.unsqueeze(0));
  const FullPrecision full_precision;  // for squares
  const at::Tensor squares_NO =
      at::matmul(style_NI.to(weight_.scalar_type()).square(),
                 weight_.square().sum({2, 3}).t());
  return output * PerChannel(at::rsqrt(squares_NO + kStyleEps)) +
         PerChannel(bias_.unsqueeze(0));
}

double ModulatedConv::init_gain() const {
  return RootOf(options_.in_channels * options_.kernel * options_.kernel);
}

NoiseInput::NoiseInput(int64_t size)
    : DrawingLayer("noise_key"),
      strength_(register_parameter("strength", torch::zeros({}))),
      noise_const_(register_buffer("noise_const", torch::zeros({size, size}))) {
}

at::Tensor NoiseInput::ForwardGiven(const at::Tensor& input_NCHW,
                                    const at::Tensor& place, ForwardMode mode) {
  if (mode == ForwardMode::kEvaluate && !draws_always_) {
    return input_NCHW + noise_const_ * strength_;
  }
  const int64_t images = input_NCHW.size(0);
  at::Tensor noise = torch::empty(
      {images, 1, noise_const_.size(0), noise_const_.size(1)}, torch::kFloat64);
  double* out = noise.mutable_data_ptr<double>();
  for (int64_t row = 0; row < images; ++row) {
    PhiloxStream stream = StreamOf(place, row);
    for (int64_t i = 0; i < noise_const_.numel(); ++i) {
      *out++ = stream.NextNormal();
    }
  }
  return input_NCHW +
         noise.to(strength_.device(), strength_.scalar_type()) * strength_;
}

at::Tensor WithDeviation(const at::Tensor& input_NCHW, int64_t group) {
  const int64_t images = input_NCHW.size(0);
  const FullPrecision full_precision;  // for squares of differences
  group = std::clamp<int64_t>(group, 1, std::max<int64_t>(images, 1));
  while (images % group != 0) --group;
  const at::Tensor groups =
      input_NCHW.reshape({group, images / group, input_NCHW.size(1),
                          input_NCHW.size(2), input_NCHW.size(3)});
  const at::Tensor variance =
      (groups - groups.mean(0, /*keepdim=*/true)).square().mean(0);
  const at::Tensor deviation = at::sqrt(variance + kStyleEps).mean({1, 2, 3});
  return at::cat({input_NCHW, PerChannel(deviation.repeat({group}).unsqueeze(1))
                                  .expand({images, 1, input_NCHW.size(2),
                                           input_NCHW.size(3)})},
                 /*dim=*/1);
}

}  // namespace gandem
