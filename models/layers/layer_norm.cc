// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_norm.h"

#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {

LayerNorm::LayerNorm(const Options& options)
    : options_(options),
      weight_(
          register_parameter("weight", torch::ones({options.num_channels}))),
      bias_(register_parameter("bias", torch::zeros({options.num_channels}))) {}

at::Tensor LayerNorm::forward(const at::Tensor& input_NCHW,
                              ForwardMode /*mode*/) {
  // Torch's kernels do not support parameters with per-image weights.
  const bool weighed = ParameterWeightsScope::Current().defined();
  const at::Tensor weight = weighed ? at::Tensor() : weight_;
  const at::Tensor bias = weighed ? at::Tensor() : bias_;
  at::Tensor output;
  if (options_.over == Over::kImage) {
    output = at::group_norm(input_NCHW, /*num_groups=*/1, weight, bias,
                            options_.eps);
  } else {
    output = at::layer_norm(input_NCHW.permute({0, 2, 3, 1}),
                            {options_.num_channels}, weight, bias, options_.eps)
                 .permute({0, 3, 1, 2});
  }
  if (!weighed) return output;
  const auto of_images = [&](const at::Tensor& parameter) {
    return WeighedCopies(parameter.view({-1, 1, 1}), input_NCHW.size(0));
  };
  return output * of_images(weight_) + of_images(bias_);
}

}  // namespace gandem
