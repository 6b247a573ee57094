// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradient_scaler.h"

#include <limits>
#include <utility>

#include "models/torch.h"

namespace gandem {

GradientScaler::GradientScaler(Options options)
    : options_(std::move(options)),
      scale_(torch::full({}, options_.initial_scale, at::kDouble)),
      growth_tracker_(torch::zeros({}, at::kLong)),
      skipped_(torch::zeros({}, at::kLong)) {}

at::Tensor GradientScaler::Scale(const at::Tensor& loss) const {
  return loss * scale();
}

bool GradientScaler::Unscale(const std::vector<at::Tensor>& parameters) const {
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (gradients.empty()) return false;
  const auto options = gradients.front().options().dtype(at::kFloat);
  at::Tensor found = torch::zeros({1}, options);
  at::_amp_foreach_non_finite_check_and_unscale_(
      gradients, found, torch::full({1}, 1 / scale(), options));
  return found.item<float>() != 0;
}

void GradientScaler::Update(bool found_inf) {
  const torch::NoGradGuard no_grad;
  if (found_inf) {
    scale_.mul_(options_.backoff_factor);
    growth_tracker_.zero_();
    skipped_.add_(1);
    return;
  }
  growth_tracker_.add_(1);
  if (growth_tracker_.item<int64_t>() < options_.growth_interval) return;
  growth_tracker_.zero_();
  const double grown = scale() * options_.growth_factor;
  if (grown <= std::numeric_limits<float>::max()) scale_.fill_(grown);
}

double GradientScaler::scale() const { return scale_.item<double>(); }

int64_t GradientScaler::skipped() const { return skipped_.item<int64_t>(); }

TensorsByName GradientScaler::State() const {
  return {{"scale", scale_},
          {"growth_tracker", growth_tracker_},
          {"skipped", skipped_}};
}

}  // namespace gandem
