// SPDX-License-Identifier: Apache-2.0
#include "models/layers/conditional_batch_norm.h"

#include "common/check.h"
#include "models/layers/weighted.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Makes a map from a condition to a gain or bias per feature.
std::shared_ptr<Layer> MakeMap(int64_t num_features, const LayerStyle& style) {
  if (style.per_class) {
    return std::make_shared<Embedding>(
        Embedding::Options{.num_classes = style.condition_dim,
                           .dim = num_features,
                           .starts_at_zero = true});
  }
  return MakeLinear(style.condition_dim, num_features, style, /*bias=*/false);
}

}  // namespace

ConditionalBatchNorm::ConditionalBatchNorm(int64_t num_features,
                                           const LayerStyle& style)
    : bn_(register_module("bn", std::make_shared<BatchNorm>(BatchNorm::Options{
                                    .num_features = num_features,
                                    .eps = style.norm_eps,
                                    .affine = false}))),
      gain_(register_module("gain", MakeMap(num_features, style))),
      bias_(register_module("bias", MakeMap(num_features, style))) {}

at::Tensor ConditionalBatchNorm::ForwardGiven(const at::Tensor& input,
                                              const at::Tensor& condition,
                                              ForwardMode mode) {
  GANDEM_CHECK(condition.defined());
  at::Tensor gain_NC = gain_->forward(condition, mode) + 1;
  at::Tensor bias_NC = bias_->forward(condition, mode);
  if (input.dim() == 4) {
    gain_NC = gain_NC.unsqueeze(-1).unsqueeze(-1);
    bias_NC = bias_NC.unsqueeze(-1).unsqueeze(-1);
  }
  return at::addcmul(bias_NC, bn_->forward(input, mode), gain_NC);
}

}  // namespace gandem
