// SPDX-License-Identifier: Apache-2.0
//
// Adafactor (Shazeer and Stern 2018, algorithms 4 and 5): Adam with a factored
// second moment. For a matrix it keeps the means over rows and over columns and
// uses their product (equation 4). Tensors with more dimensions count as
// matrices of the first dimension by the rest.
//   b_t = 1 - t^-decay_exponent
//   v_t = b_t * v_{t-1} + (1 - b_t) * (g^2 + eps_square)
//   u = g / sqrt(v_t)
//   step = rho_t * max(eps_scale, RMS(w)) * u / max(1, RMS(u) / clip_threshold)
// where rho_t is the learning rate, with relative_step at most 1 / sqrt(t).
// Weight decay uses the learning rate alone, as in torch.optim.
//
// State: "row_mean.<parameter>" and "column_mean.<parameter>" for tensors of
// two or more dimensions, "exp_avg_sq.<parameter>" for the others,
// "exp_avg.<parameter>" with beta1.
#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

at::Tensor RootMeanSquare(const at::Tensor& x) {
  return x.square().mean().sqrt();
}

class Adafactor : public UpdateRule {
 public:
  Adafactor(const AdafactorConfig& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {
    for (const at::Tensor& parameter : parameters_) {
      const bool factored = parameter.dim() >= 2;
      at::Tensor row_mean;
      at::Tensor column_mean;
      at::Tensor square;
      if (factored) {
        std::vector<int64_t> shape(parameter.dim(), 1);
        shape[0] = parameter.size(0);
        row_mean = at::zeros(shape, parameter.options());
        shape = parameter.sizes().vec();
        shape[0] = 1;
        column_mean = at::zeros(shape, parameter.options());
      } else {
        square = at::zeros_like(parameter.detach());
      }
      row_means_.push_back(row_mean);
      column_means_.push_back(column_mean);
      exp_avg_sqs_.push_back(square);
    }
    AddState("row_mean", row_means_);
    AddState("column_mean", column_means_);
    AddState("exp_avg_sq", exp_avg_sqs_);
    if (config_.beta1() > 0) exp_avgs_ = AddState("exp_avg");
  }

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const double beta1 = config_.beta1();
    const double weight_decay = config_.weight_decay();
    const double t = static_cast<double>(step);
    const double rate = config_.relative_step()
                            ? std::min(learning_rate, 1 / std::sqrt(t))
                            : learning_rate;
    // 1 - b_t, the weight of the new square.
    const double fresh = std::pow(t, -config_.decay_exponent());
    for (size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor& parameter = parameters_[i];
      at::Tensor update = gradients[i] * InverseRoot(i, gradients[i], fresh);
      update.div_(
          (RootMeanSquare(update) / config_.clip_threshold()).clamp_min(1));
      update.mul_(rate);
      if (config_.scale_by_parameter()) {
        update.mul_(RootMeanSquare(parameter).clamp_min(config_.eps_scale()));
      }
      if (beta1 > 0) {
        update = exp_avgs_[i].lerp_(update, 1 - beta1);
      }
      if (weight_decay > 0) parameter.mul_(1 - learning_rate * weight_decay);
      parameter.sub_(update);
    }
  }

 private:
  // Updates the second moment of parameter i; returns 1 / sqrt of it.
  at::Tensor InverseRoot(size_t i, const at::Tensor& gradient, double fresh) {
    const at::Tensor square = gradient.square().add_(config_.eps_square());
    if (exp_avg_sqs_[i].defined()) {
      return exp_avg_sqs_[i].lerp_(square, fresh).rsqrt();
    }
    std::vector<int64_t> columns(square.dim() - 1);
    std::iota(columns.begin(), columns.end(), 1);
    const at::Tensor& row_mean = row_means_[i];
    row_mean.lerp_(square.mean(columns, /*keepdim=*/true), fresh);
    column_means_[i].lerp_(square.mean(0, /*keepdim=*/true), fresh);
    // Two separate roots, since the product of the means would underflow in
    // float32 for small gradients.
    return (row_mean / row_mean.mean()).rsqrt() * column_means_[i].rsqrt();
  }

  const AdafactorConfig config_;
  Tensors row_means_;     // [rows, 1, ...]; undefined unless factored
  Tensors column_means_;  // [1, columns ...]; undefined unless factored
  Tensors exp_avg_sqs_;   // undefined if factored
  Tensors exp_avgs_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const AdafactorConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adafactor>(config, parameters);
}

}  // namespace gandem
