// SPDX-License-Identifier: Apache-2.0
#include "models/layers/bottleneck_block.h"

#include <string>

#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kRatio = 4;
constexpr std::array<int64_t, 4> kKernels = {1, 3, 3, 1};

std::array<int64_t, 5> Channels(int64_t in, int64_t hidden, int64_t out) {
  return {in, hidden, hidden, hidden, out};
}

}  // namespace

BottleneckGeneratorBlock::BottleneckGeneratorBlock(const Options& options)
    : out_channels_(options.out_channels), upsample_(options.upsample) {
  const auto channels = Channels(
      options.in_channels, options.in_channels / kRatio, options.out_channels);
  for (size_t i = 0; i < kKernels.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    norms_[i] =
        register_module("norm" + number, MakeNorm(channels[i], options.style));
    convolutions_[i] = register_module(
        "conv" + number, MakeConvolution(channels[i], channels[i + 1],
                                         kKernels[i], options.style));
  }
  if (options.mixing_shortcut) {
    shortcut_ = register_module(
        "shortcut", MakeConvolution(options.in_channels, options.out_channels,
                                    /*kernel=*/1, options.style));
  }
}

at::Tensor BottleneckGeneratorBlock::ForwardGiven(const at::Tensor& input,
                                                  const at::Tensor& condition,
                                                  ForwardMode mode) {
  at::Tensor x = input;
  for (size_t i = 0; i < kKernels.size(); ++i) {
    x = Relu(norms_[i]->ForwardGiven(x, condition, mode));
    if (upsample_ && i == 1) x = Upsample(x);
    x = convolutions_[i]->forward(x, mode);
  }
  at::Tensor kept = shortcut_ ? shortcut_->forward(input, mode)
                              : input.narrow(/*dim=*/1, 0, out_channels_);
  return x + (upsample_ ? Upsample(kept) : kept);
}

BottleneckDiscriminatorBlock::BottleneckDiscriminatorBlock(
    const Options& options)
    : options_(options) {
  const int64_t in = options.in_channels;
  const int64_t out = options.out_channels;
  const auto channels = Channels(in, out / kRatio, out);
  for (size_t i = 0; i < kKernels.size(); ++i) {
    convolutions_[i] =
        register_module("conv" + std::to_string(i + 1),
                        MakeConvolution(channels[i], channels[i + 1],
                                        kKernels[i], options.style));
  }
  // Channels of the shortcut made by a convolution: all, or the missing ones.
  const int64_t mixed = options.mixing_shortcut
                            ? (in != out || options.halve ? out : 0)
                            : out - in;
  if (mixed > 0) {
    shortcut_ = register_module(
        "shortcut", MakeConvolution(in, mixed, /*kernel=*/1, options.style));
  }
}

at::Tensor BottleneckDiscriminatorBlock::forward(const at::Tensor& input,
                                                 ForwardMode mode) {
  // Not in place, since a raw shortcut also reads the input.
  const at::Tensor activated = at::relu(input);
  at::Tensor x = convolutions_[0]->forward(activated, mode);
  x = convolutions_[1]->forward(Relu(x), mode);
  x = convolutions_[2]->forward(Relu(x), mode);
  const bool pools_first = options_.mixing_shortcut;
  if (options_.halve && pools_first) x = Downsample(x);
  x = Relu(x);
  if (options_.halve && !pools_first) x = Downsample(x);
  x = convolutions_[3]->forward(x, mode);
  return x + Shortcut(options_.rectified_shortcut ? activated : input, mode);
}

at::Tensor BottleneckDiscriminatorBlock::Shortcut(const at::Tensor& input,
                                                  ForwardMode mode) {
  const at::Tensor x = options_.halve ? Downsample(input) : input;
  if (!shortcut_) return x;
  const at::Tensor mixed = shortcut_->forward(x, mode);
  return options_.mixing_shortcut ? mixed : at::cat({x, mixed}, /*dim=*/1);
}

}  // namespace gandem
