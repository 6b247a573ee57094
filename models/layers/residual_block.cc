// SPDX-License-Identifier: Apache-2.0
#include "models/layers/residual_block.h"

#include "models/layers/batch_norm.h"
#include "models/layers/layer_norm.h"
#include "models/torch.h"

namespace gandem {
namespace {

LayerStyle ShortcutStyle(LayerStyle style) {
  style.init_gain = 1;
  return style;
}

at::Tensor Normalized(const std::shared_ptr<Layer>& norm,
                      const at::Tensor& input, ForwardMode mode) {
  return norm ? norm->forward(input, mode) : input;
}

}  // namespace

GeneratorBlock::GeneratorBlock(const Options& options) : options_(options) {
  const int64_t in = options.in_channels;
  const int64_t out = options.out_channels;
  const LayerStyle& style = options.style;
  norm1_ = register_module("norm1", MakeNorm(in, style));
  conv1_ = register_module(
      "conv1", MakeConvolution(in, out, 3, style, options.first_bias));
  norm2_ = register_module("norm2", MakeNorm(out, style));
  conv2_ = register_module("conv2", MakeConvolution(out, out, 3, style));
  shortcut_ = register_module(
      "shortcut", MakeConvolution(in, out, 1, ShortcutStyle(style)));
}

at::Tensor GeneratorBlock::ForwardGiven(const at::Tensor& input_NCHW,
                                        const at::Tensor& condition,
                                        ForwardMode mode) {
  at::Tensor x = Relu(norm1_->ForwardGiven(input_NCHW, condition, mode));
  x = conv1_->forward(options_.upsample(x), mode);
  x = Relu(norm2_->ForwardGiven(x, condition, mode));
  x = conv2_->forward(x, mode);
  return x + shortcut_->forward(options_.upsample(input_NCHW), mode);
}

DiscriminatorBlock::DiscriminatorBlock(const Options& options)
    : options_(options) {
  const int64_t in = options.in_channels;
  const int64_t hidden = options.hidden_channels;
  const int64_t out = options.out_channels;
  const LayerStyle style = {.spectral_norm = options.norm == Norm::kSpectral,
                            .spectral_norm_eps = options.spectral_norm_eps,
                            .init_gain = options.init_gain};
  if (!options.first) norm1_ = MakeNorm(in);
  if (norm1_) register_module("norm1", norm1_);
  conv1_ = register_module(
      "conv1", MakeConvolution(in, hidden, 3, style, options.first_bias));
  norm2_ = MakeNorm(hidden);
  if (norm2_) register_module("norm2", norm2_);
  conv2_ = register_module("conv2", MakeConvolution(hidden, out, 3, style));
  if (!options.halve && in == out) return;
  if (options.norm == Norm::kBatch) {
    shortcut_norm_ = register_module("shortcut_norm", MakeNorm(in));
  }
  shortcut_ = register_module(
      "shortcut", MakeConvolution(in, out, 1, ShortcutStyle(style)));
}

at::Tensor DiscriminatorBlock::forward(const at::Tensor& input_NCHW,
                                       ForwardMode mode) {
  at::Tensor x = input_NCHW;
  // Not in place, since the shortcut reads the input.
  if (!options_.first) x = at::relu(Normalized(norm1_, x, mode));
  const bool rectified = options_.rectified_shortcut && !options_.first;
  const at::Tensor shortcut = Shortcut(rectified ? x : input_NCHW, mode);
  x = conv1_->forward(x, mode);
  x = Relu(Normalized(norm2_, x, mode));
  x = conv2_->forward(x, mode);
  return (options_.halve ? Downsample(x) : x) + shortcut;
}

std::shared_ptr<Layer> DiscriminatorBlock::MakeNorm(int64_t channels) const {
  switch (options_.norm) {
    case Norm::kBatch:
      return MakeBatchNorm(channels, options_.batch_norm_eps);
    case Norm::kLayer:
      return std::make_shared<LayerNorm>(
          LayerNorm::Options{.num_channels = channels});
    case Norm::kSpectral:
    case Norm::kNone:
      break;
  }
  return nullptr;
}

// Averaging before and after the convolution are equal up to rounding, unless
// there is a norm in between. Each block uses the order of its original code.
at::Tensor DiscriminatorBlock::Shortcut(const at::Tensor& input_NCHW,
                                        ForwardMode mode) {
  if (!shortcut_) return input_NCHW;
  const bool early =
      options_.halve && (options_.first || options_.average_first);
  const bool late = options_.halve && !early;
  at::Tensor x = early ? Downsample(input_NCHW) : input_NCHW;
  x = shortcut_->forward(Normalized(shortcut_norm_, x, mode), mode);
  return late ? Downsample(x) : x;
}

}  // namespace gandem
