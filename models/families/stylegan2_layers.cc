// SPDX-License-Identifier: Apache-2.0
#include "models/families/stylegan2_layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/autocast.h"
#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr double kStyleEps = 1e-8;
constexpr double kMappingRate = 0.01;

double RootOf(int64_t fan_in) { return std::sqrt(static_cast<double>(fan_in)); }

at::Tensor UnitMeanSquare(const at::Tensor& input_NI) {
  return input_NI *
         at::rsqrt(input_NI.square().mean(1, /*keepdim=*/true) + kStyleEps);
}

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

// A kernel of 1 sees every other pixel only, so the others need no blur.
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
  // Three of four pixels between which the kernel stands are 0: hence the 4.
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
  const FullPrecision full_precision;  // squares
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
  if (mode == ForwardMode::kEvaluate) {
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

StyleMapping::StyleMapping(const Options& options) : options_(options) {
  int64_t features = options.noise_dim;
  if (options.num_classes > 0) {
    embed_ = register_module(
        "embed", std::make_shared<EqualLinear>(
                     EqualLinear::Options{.in_features = options.num_classes,
                                          .out_features = options.style_dim}));
    features += options.style_dim;
  }
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.push_back(register_module(
        absl::StrCat("fc", i),
        std::make_shared<EqualLinear>(EqualLinear::Options{
            .in_features = i == 0 ? features : options.style_dim,
            .out_features = options.style_dim,
            .rate = kMappingRate})));
  }
}

at::Tensor StyleMapping::forward(const at::Tensor& noise_NZ,
                                 const at::Tensor& labels_N, ForwardMode mode) {
  std::vector<at::Tensor> parts;
  if (options_.noise_dim > 0) parts.push_back(UnitMeanSquare(noise_NZ));
  if (embed_) {
    const at::Tensor one_hot_NK = at::one_hot(labels_N, options_.num_classes);
    const at::ScalarType type = embed_->parameters().front().scalar_type();
    parts.push_back(UnitMeanSquare(embed_->forward(one_hot_NK.to(type), mode)));
  }
  at::Tensor x = at::cat(parts, /*dim=*/1);
  for (const auto& layer : layers_) {
    x = ScaledLeakyRelu(layer->forward(x, mode));
  }
  return x;
}

at::Tensor WithDeviation(const at::Tensor& input_NCHW, int64_t group) {
  const int64_t images = input_NCHW.size(0);
  const FullPrecision full_precision;  // squares of differences
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
