// SPDX-License-Identifier: Apache-2.0
#include "models/layers/weighted.h"

#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {

WeightedLayer::WeightedLayer(at::IntArrayRef weight_shape, int64_t row_dim,
                             bool bias, bool spectral_norm,
                             double spectral_norm_eps) {
  weight_ = register_parameter("weight", torch::zeros(weight_shape));
  if (bias) {
    bias_ = register_parameter("bias", torch::zeros({weight_shape[row_dim]}));
  }
  if (spectral_norm) {
    spectral_norm_.emplace(
        *this, weight_,
        SpectralNorm::Options{.row_dim = row_dim, .eps = spectral_norm_eps});
  }
}

void WeightedLayer::IterateSpectralNorm(int times) {
  if (spectral_norm_) spectral_norm_->Iterate(weight_, times);
}

at::Tensor WeightedLayer::EffectiveWeight(ForwardMode mode) {
  return spectral_norm_ ? spectral_norm_->Normalize(weight_, mode) : weight_;
}

Linear::Linear(const Options& options)
    : WeightedLayer({options.out_features, options.in_features}, /*row_dim=*/0,
                    options.bias, options.spectral_norm,
                    options.spectral_norm_eps),
      init_gain_(options.init_gain) {}

at::Tensor Linear::forward(const at::Tensor& input, ForwardMode mode) {
  return WeighedLinear(input, EffectiveWeight(mode), bias());
}

Embedding::Embedding(const Options& options)
    : WeightedLayer({options.num_classes, options.dim}, /*row_dim=*/0,
                    /*bias=*/false, options.spectral_norm,
                    options.spectral_norm_eps),
      options_(options) {}

at::Tensor Embedding::forward(const at::Tensor& labels_N, ForwardMode mode) {
  return WeighedRows(at::embedding(EffectiveWeight(mode), labels_N));
}

Conv2d::Conv2d(const ConvOptions& options)
    : WeightedLayer({options.out_channels, options.in_channels / options.groups,
                     options.kernel, options.kernel},
                    /*row_dim=*/0, options.bias, options.spectral_norm,
                    options.spectral_norm_eps),
      options_(options) {}

at::Tensor Conv2d::forward(const at::Tensor& input, ForwardMode mode) {
  return WeighedConvolution(input, EffectiveWeight(mode), bias(),
                            {.stride = options_.stride,
                             .padding = options_.padding,
                             .groups = options_.groups});
}

// The weight is [in, out, height, width]; matrix rows are outputs (traps.md
// 12).
ConvTranspose2d::ConvTranspose2d(const ConvOptions& options)
    : WeightedLayer({options.in_channels, options.out_channels, options.kernel,
                     options.kernel},
                    /*row_dim=*/1, options.bias, options.spectral_norm,
                    options.spectral_norm_eps),
      options_(options) {}

at::Tensor ConvTranspose2d::forward(const at::Tensor& input, ForwardMode mode) {
  return WeighedConvolution(input, EffectiveWeight(mode), bias(),
                            {.transposed = true,
                             .stride = options_.stride,
                             .padding = options_.padding,
                             .output_padding = options_.output_padding});
}

}  // namespace gandem
