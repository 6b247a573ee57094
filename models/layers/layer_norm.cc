// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_norm.h"

#include "models/torch.h"

namespace gandem {

LayerNorm::LayerNorm(const Options& options)
    : options_(options),
      weight_(
          register_parameter("weight", torch::ones({options.num_channels}))),
      bias_(register_parameter("bias", torch::zeros({options.num_channels}))) {}

at::Tensor LayerNorm::forward(const at::Tensor& input_NCHW,
                              ForwardMode /*mode*/) {
  if (options_.over == Over::kImage) {
    return at::group_norm(input_NCHW, /*num_groups=*/1, weight_, bias_,
                          options_.eps);
  }
  const at::Tensor input_NHWC = input_NCHW.permute({0, 2, 3, 1});
  return at::layer_norm(input_NHWC, {options_.num_channels}, weight_, bias_,
                        options_.eps)
      .permute({0, 3, 1, 2});
}

}  // namespace gandem
