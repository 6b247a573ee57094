// SPDX-License-Identifier: Apache-2.0
#include "models/layers/self_attention.h"

#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {

SelfAttention::SelfAttention(int64_t channels, const LayerStyle& style) {
  const auto convolution = [&](int64_t in_channels, int64_t out_channels) {
    return MakeConvolution(in_channels, out_channels, /*kernel=*/1, style,
                           /*bias=*/false);
  };
  const int64_t key_channels = channels / kChannelDivisor;
  theta_ = register_module("theta", convolution(channels, key_channels));
  phi_ = register_module("phi", convolution(channels, key_channels));
  g_ = register_module("g", convolution(channels, channels / 2));
  o_ = register_module("o", convolution(channels / 2, channels));
  sigma_ = register_parameter("sigma", torch::zeros({1}));
}

at::Tensor SelfAttention::forward(const at::Tensor& input_NCHW,
                                  ForwardMode mode) {
  // P pixels, of which K = P / 4 have a key; D = C / 8, V = C / 2.
  const at::Tensor queries_NDP = theta_->forward(input_NCHW, mode).flatten(2);
  const at::Tensor keys_NDK =
      at::max_pool2d(phi_->forward(input_NCHW, mode), /*kernel_size=*/2)
          .flatten(2);
  const at::Tensor values_NVK =
      at::max_pool2d(g_->forward(input_NCHW, mode), /*kernel_size=*/2)
          .flatten(2);
  const at::Tensor weights_NPK =
      at::softmax(at::bmm(queries_NDP.transpose(1, 2), keys_NDK), /*dim=*/-1);
  const at::Tensor attended_NVHW =
      at::bmm(values_NVK, weights_NPK.transpose(1, 2))
          .view(
              {-1, values_NVK.size(1), input_NCHW.size(2), input_NCHW.size(3)});
  const at::Tensor sigma =
      WeighedCopies(sigma_.view({1, 1, 1}), input_NCHW.size(0));
  return input_NCHW + sigma * o_->forward(attended_NVHW, mode);
}

}  // namespace gandem
