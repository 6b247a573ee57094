// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer.h"

#include <string>
#include <utility>

#include "common/check.h"
#include "models/layers/recompute.h"
#include "models/torch.h"

namespace gandem {

Sequence& Sequence::Add(std::shared_ptr<Layer> layer) {
  register_module(std::to_string(entries_.size()), layer);
  entries_.push_back({.layer = std::move(layer), .function = nullptr});
  return *this;
}

Sequence& Sequence::Add(Function function) {
  GANDEM_CHECK(!entries_.empty());
  entries_.push_back({.layer = nullptr, .function = function});
  return *this;
}

at::Tensor Sequence::forward(const at::Tensor& input, ForwardMode mode) {
  return ForwardEach(input, {}, mode);
}

at::Tensor Sequence::ForwardGiven(const at::Tensor& input,
                                  const at::Tensor& condition,
                                  ForwardMode mode) {
  const std::vector<at::Tensor> conditions(entries_.size(), condition);
  return ForwardEach(input, conditions, mode);
}

// A recomputed layer gets what it reads as arguments, for the graph keeps only
// those.
at::Tensor Sequence::ForwardEach(const at::Tensor& input,
                                 std::span<const at::Tensor> conditions,
                                 ForwardMode mode) {
  GANDEM_CHECK(conditions.empty() || conditions.size() == entries_.size());
  at::Tensor x = input;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.layer) {
      x = entry.function(std::move(x));
      continue;
    }
    const at::Tensor condition =
        conditions.empty() ? at::Tensor() : conditions[i];
    const auto pass = [layer = entry.layer](
                          const std::vector<at::Tensor>& inputs,
                          ForwardMode pass_mode) {
      return layer->ForwardGiven(inputs[0], inputs[1], pass_mode);
    };
    if (entry.recompute) {
      x = Recompute(entry.layer, {x, condition}, mode, pass);
    } else {
      x = pass({x, condition}, mode);
    }
  }
  return x;
}

// A block is a layer made of layers; a single one has nothing inside to forget.
int Sequence::RecomputeBlocks() {
  int blocks = 0;
  for (Entry& entry : entries_) {
    if (!entry.layer || entry.layer->children().empty()) continue;
    entry.recompute = true;
    ++blocks;
  }
  return blocks;
}

int RecomputeBlocks(torch::nn::Module& network) {
  int blocks = 0;
  for (const auto& module : network.modules()) {
    if (auto* const sequence = dynamic_cast<Sequence*>(module.get())) {
      blocks += sequence->RecomputeBlocks();
    }
  }
  return blocks;
}

at::Tensor Relu(at::Tensor input) { return input.relu_(); }

at::Tensor LeakyRelu(at::Tensor input) {
  return at::leaky_relu_(input, /*negative_slope=*/0.2);
}

at::Tensor Tanh(at::Tensor input) { return input.tanh_(); }

at::Tensor Upsample(at::Tensor input_NCHW) {
  return at::upsample_nearest2d(
      input_NCHW, {2 * input_NCHW.size(2), 2 * input_NCHW.size(3)});
}

at::Tensor UpsampleBilinear(at::Tensor input_NCHW) {
  return at::upsample_bilinear2d(
      input_NCHW, {2 * input_NCHW.size(2), 2 * input_NCHW.size(3)},
      /*align_corners=*/false);
}

at::Tensor Downsample(at::Tensor input_NCHW) {
  return at::avg_pool2d(input_NCHW, /*kernel_size=*/2);
}

namespace {

// [1, 1] in both directions, where each image is `padding` zeros larger at
// every edge.
at::Tensor MeanOfTwo(const at::Tensor& input_NCHW, int64_t padding,
                     int64_t stride = 1) {
  return at::avg_pool2d(input_NCHW, /*kernel_size=*/2, stride, padding,
                        /*ceil_mode=*/false, /*count_include_pad=*/true);
}

}  // namespace

// [1, 3, 3, 1] is [1, 1] three times. Of nearest neighbors two are left to do.
at::Tensor SmoothUpsample(at::Tensor input_NCHW) {
  return MeanOfTwo(MeanOfTwo(Upsample(std::move(input_NCHW)), /*padding=*/1),
                   /*padding=*/0);
}

at::Tensor SmoothDownsample(at::Tensor input_NCHW) {
  return MeanOfTwo(
      MeanOfTwo(MeanOfTwo(input_NCHW, /*padding=*/1), /*padding=*/0),
      /*padding=*/0, /*stride=*/2);
}

at::Tensor SmoothBlur(const at::Tensor& input_NCHW, int64_t padding) {
  return MeanOfTwo(MeanOfTwo(MeanOfTwo(input_NCHW, /*padding=*/1), padding - 1),
                   /*padding=*/0);
}

at::Tensor SumPool(at::Tensor input_NCHW) { return input_NCHW.sum({2, 3}); }

}  // namespace gandem
