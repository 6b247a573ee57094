// SPDX-License-Identifier: Apache-2.0
#include "models/layers/batch_norm.h"

#include <torch/torch.h>

namespace gandem {

BatchNorm::BatchNorm(Options options) : options_(options) {
  const int64_t n = options_.num_features;
  if (options_.affine) {
    weight_ = register_parameter("weight", torch::ones({n}));
    bias_ = register_parameter("bias", torch::zeros({n}));
  }
  running_mean_ = register_buffer("running_mean", torch::zeros({n}));
  running_var_ = register_buffer("running_var", torch::ones({n}));
  num_batches_tracked_ =
      register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
}

at::Tensor BatchNorm::forward(const at::Tensor& input, ForwardMode mode) {
  // Undefined running tensors are what keeps a frozen pass from recording;
  // switching tracking off on a module does not (models.md T2).
  const bool use_running = mode != ForwardMode::kFrozen;
  if (mode == ForwardMode::kTrain) num_batches_tracked_.add_(1);
  return at::batch_norm(input, weight_, bias_,
                        use_running ? running_mean_ : at::Tensor(),
                        use_running ? running_var_ : at::Tensor(),
                        /*training=*/mode != ForwardMode::kEvaluate,
                        options_.momentum, options_.eps,
                        /*cudnn_enabled=*/true);
}

void BatchNorm::ResetStatistics() {
  const torch::NoGradGuard no_grad;
  running_mean_.zero_();
  running_var_.fill_(1);
  num_batches_tracked_.zero_();
}

void BatchNorm::to(torch::Dtype dtype, bool non_blocking) {
  Layer::to(dtype, non_blocking);
  num_batches_tracked_.set_data(num_batches_tracked_.to(torch::kInt64));
}

void BatchNorm::to(torch::Device device, torch::Dtype dtype,
                   bool non_blocking) {
  Layer::to(device, dtype, non_blocking);
  num_batches_tracked_.set_data(num_batches_tracked_.to(torch::kInt64));
}

}  // namespace gandem
