// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_style.h"

#include "models/layers/batch_norm.h"
#include "models/layers/conditional_batch_norm.h"

namespace gandem {

std::shared_ptr<Layer> MakeNorm(int64_t channels, const LayerStyle& style) {
  if (style.condition_dim == 0) return MakeBatchNorm(channels, style.norm_eps);
  return std::make_shared<ConditionalBatchNorm>(channels, style);
}

std::shared_ptr<Conv2d> MakeConvolution(int64_t in_channels,
                                        int64_t out_channels, int64_t kernel,
                                        const LayerStyle& style, bool bias) {
  return std::make_shared<Conv2d>(
      ConvOptions{.in_channels = in_channels,
                  .out_channels = out_channels,
                  .kernel = kernel,
                  .padding = kernel / 2,
                  .bias = bias,
                  .spectral_norm = style.spectral_norm,
                  .spectral_norm_eps = style.spectral_norm_eps,
                  .init_gain = style.init_gain});
}

std::shared_ptr<Linear> MakeLinear(int64_t in_features, int64_t out_features,
                                   const LayerStyle& style, bool bias) {
  return std::make_shared<Linear>(
      Linear::Options{.in_features = in_features,
                      .out_features = out_features,
                      .bias = bias,
                      .spectral_norm = style.spectral_norm,
                      .spectral_norm_eps = style.spectral_norm_eps,
                      .init_gain = style.init_gain});
}

}  // namespace gandem
