// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer.h"

#include <string>
#include <utility>

#include "common/check.h"
#include "models/autocast.h"
#include "models/layers/recompute.h"
#include "models/torch.h"

namespace gandem {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

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

// The graph of a recomputed layer keeps only the layer's arguments.
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

// A layer without children is no block: it has no inner results to discard.
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

// Convolves each channel separately with a constant kernel, or applies the
// transpose. Both are linear, so each is the gradient of the other, of any
// order. Torch's second derivative would process the groups one by one.
struct FilterFunction : public torch::autograd::Function<FilterFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& kernel, int64_t stride,
                            int64_t padding, bool transposed) {
    context->save_for_backward({kernel});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["transposed"] = transposed;
    const FullPrecision in_its_own_type;
    const int64_t channels = input.size(1);
    return at::convolution(
        input, kernel.expand({channels, 1, kernel.size(2), kernel.size(3)}),
        /*bias=*/{}, {stride, stride}, {padding, padding}, /*dilation=*/{1, 1},
        transposed, /*output_padding=*/{0, 0}, /*groups=*/channels);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    auto& saved = context->saved_data;
    return {apply(gradients[0], context->get_saved_variables()[0],
                  saved["stride"].toInt(), saved["padding"].toInt(),
                  !saved["transposed"].toBool()),
            at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

// Returns [1, 3, 3, 1] / 8 in both directions, times `gain`: [1, 1, 4, 4].
at::Tensor SmoothKernel(const at::Tensor& like, double gain) {
  const at::Tensor taps = torch::tensor({1., 3., 3., 1.}, torch::kFloat64) / 8;
  return (gain * taps.outer(taps)).to(like.options()).view({1, 1, 4, 4});
}

}  // namespace

at::Tensor SmoothUpsample(at::Tensor input_NCHW) {
  return FilterFunction::apply(input_NCHW, SmoothKernel(input_NCHW, 4),
                               /*stride=*/2, /*padding=*/1,
                               /*transposed=*/true);
}

at::Tensor SmoothDownsample(at::Tensor input_NCHW) {
  return FilterFunction::apply(input_NCHW, SmoothKernel(input_NCHW, 1),
                               /*stride=*/2, /*padding=*/1,
                               /*transposed=*/false);
}

at::Tensor SmoothBlur(const at::Tensor& input_NCHW, int64_t padding) {
  return FilterFunction::apply(input_NCHW, SmoothKernel(input_NCHW, 1),
                               /*stride=*/1, padding, /*transposed=*/false);
}

at::Tensor SumPool(at::Tensor input_NCHW) { return input_NCHW.sum({2, 3}); }

}  // namespace gandem
