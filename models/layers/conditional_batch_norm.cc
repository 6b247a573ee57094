// SPDX-License-Identifier: Apache-2.0
#include "models/layers/conditional_batch_norm.h"

#include "common/check.h"
#include "models/layers/weighted.h"
#include "models/torch.h"

namespace gandem {
namespace {

// From a condition to a number for each feature: gain and bias are one each.
std::shared_ptr<Layer> MakeMap(const ConditionalBatchNorm::Options& options) {
  if (options.per_class) {
    return std::make_shared<Embedding>(
        Embedding::Options{.num_classes = options.condition_dim,
                           .dim = options.num_features,
                           .starts_at_zero = true});
  }
  return std::make_shared<Linear>(
      Linear::Options{.in_features = options.condition_dim,
                      .out_features = options.num_features,
                      .bias = false,
                      .spectral_norm = options.spectral_norm,
                      .spectral_norm_eps = options.spectral_norm_eps});
}

}  // namespace

ConditionalBatchNorm::ConditionalBatchNorm(const Options& options)
    : bn_(register_module("bn", std::make_shared<BatchNorm>(BatchNorm::Options{
                                    .num_features = options.num_features,
                                    .eps = options.eps,
                                    .affine = false}))),
      gain_(register_module("gain", MakeMap(options))),
      bias_(register_module("bias", MakeMap(options))) {}

at::Tensor ConditionalBatchNorm::forward(const at::Tensor& input,
                                         ForwardMode mode) {
  return ForwardGiven(input, at::Tensor(), mode);
}

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
