// SPDX-License-Identifier: Apache-2.0
#include "models/layers/batch_norm.h"

#include <tuple>
#include <vector>

#include "models/autocast.h"
#include "models/torch.h"

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
  // Undefined running tensors keep a frozen pass from recording; disabling
  // tracking on a module does not (traps.md 2).
  const bool use_running = mode != ForwardMode::kFrozen;
  if (mode == ForwardMode::kTrain) num_batches_tracked_.add_(1);
  if (fleet_ && mode != ForwardMode::kEvaluate) {
    return OverFleet(input, /*record=*/mode == ForwardMode::kTrain);
  }
  return at::batch_norm(input, weight_, bias_,
                        use_running ? running_mean_ : at::Tensor(),
                        use_running ? running_var_ : at::Tensor(),
                        /*training=*/mode != ForwardMode::kEvaluate,
                        options_.momentum, options_.eps,
                        /*cudnn_enabled=*/true);
}

// Each rank contributes count, mean and sum of squared deviations of its part.
// All ranks combine the parts in the same way (Chan, Golub and LeVeque 1983,
// equation 2.1), without differences of large sums or rounding of counts. All
// functions are differentiable, and so is the backward pass.
at::Tensor BatchNorm::OverFleet(const at::Tensor& input, bool record) {
  const FullPrecision full_precision;
  const at::ScalarType type = running_mean_.scalar_type();
  const at::Tensor x = input.to(type);
  std::vector<int64_t> reduced = {0};
  std::vector<int64_t> shape = {1, options_.num_features};
  for (int64_t dim = 2; dim < x.dim(); ++dim) {
    reduced.push_back(dim);
    shape.push_back(1);
  }
  const int64_t channels = options_.num_features;
  const double count = static_cast<double>(x.numel() / channels);
  at::Tensor variance_C;
  at::Tensor mean_C;
  std::tie(variance_C, mean_C) = at::var_mean(x, reduced, /*unbiased=*/false);
  const at::Tensor parts = fleet_->Gather(
      at::cat({at::full({1}, count, x.options().dtype(at::kDouble)),
               mean_C.to(at::kDouble), variance_C.to(at::kDouble) * count}));

  const at::Tensor counts_R1 = parts.narrow(1, 0, 1);
  const at::Tensor means_RC = parts.narrow(1, 1, channels);
  const at::Tensor squares_RC = parts.narrow(1, 1 + channels, channels);
  const at::Tensor total = counts_R1.sum();
  mean_C = (counts_R1 * means_RC).sum(0) / total;
  const at::Tensor square_C =
      (squares_RC + counts_R1 * (means_RC - mean_C).square()).sum(0);
  if (record) {
    const torch::NoGradGuard no_grad;
    // The variance estimate is unbiased, as in PyTorch.
    const double keep = 1 - options_.momentum;
    running_mean_.mul_(keep).add_(mean_C, options_.momentum);
    running_var_.mul_(keep).add_(square_C / (total - 1), options_.momentum);
  }
  at::Tensor scale_C = at::rsqrt(square_C / total + options_.eps);
  if (options_.affine) scale_C = scale_C * weight_;
  at::Tensor shift_C = -mean_C * scale_C;
  if (options_.affine) shift_C = shift_C + bias_;
  return at::addcmul(shift_C.to(type).view(shape), x,
                     scale_C.to(type).view(shape))
      .to(input.scalar_type());
}

void BatchNorm::ResetStatistics() {
  const torch::NoGradGuard no_grad;
  running_mean_.zero_();
  running_var_.fill_(1);
  num_batches_tracked_.zero_();
}

// Keeps the counter an integer, as PyTorch does.
void BatchNorm::to(torch::Dtype dtype, bool non_blocking) {
  Layer::to(dtype, non_blocking);
  num_batches_tracked_.set_data(num_batches_tracked_.to(torch::kInt64));
}

void BatchNorm::to(torch::Device device, torch::Dtype dtype,
                   bool non_blocking) {
  Layer::to(device, dtype, non_blocking);
  num_batches_tracked_.set_data(num_batches_tracked_.to(torch::kInt64));
}

void SyncBatchNorm(torch::nn::Module& network,
                   const std::shared_ptr<FleetGather>& fleet) {
  for (const auto& module : network.modules()) {
    if (auto* const norm = dynamic_cast<BatchNorm*>(module.get())) {
      norm->SyncOver(fleet);
    }
  }
}

}  // namespace gandem
