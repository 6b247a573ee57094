// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"
#include "training/state/module_state.h"

namespace gandem {
namespace {

std::vector<at::Tensor> GradientsOf(const torch::nn::Module& network) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : network.parameters()) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

// Returns a norm, even if squares overflow; infinite if a value is not finite.
double WideNorm(const std::vector<at::Tensor>& tensors) {
  double largest = 0;
  for (const at::Tensor& tensor : tensors) {
    if (!IsFinite(tensor)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, tensor.abs().max().item<double>());
  }
  double squares = 0;
  for (const at::Tensor& tensor : tensors) {
    const double part =
        tensor.to(at::kDouble).div(largest).norm().item<double>();
    squares += part * part;
  }
  return largest * std::sqrt(squares);
}

absl::Status NotFinite(const torch::nn::Module& network) {
  for (const auto& parameter : network.named_parameters()) {
    const at::Tensor& gradient = parameter.value().grad();
    if (gradient.defined() && !IsFinite(gradient)) {
      return absl::OutOfRangeError(
          absl::StrCat("the gradient of ", parameter.key(), " is not finite"));
    }
  }
  return absl::OutOfRangeError("the norm of the gradients is not finite");
}

}  // namespace

double GradientNorm(const torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = GradientsOf(network);
  if (gradients.empty()) return 0;
  const double norm =
      at::stack(at::_foreach_norm(gradients)).norm().item<double>();
  return std::isfinite(norm) ? norm : WideNorm(gradients);
}

double ClipGradientNorm(const torch::nn::Module& network, double max_norm) {
  const torch::NoGradGuard no_grad;
  const double norm = GradientNorm(network);
  const double scale = max_norm / (norm + 1e-6);
  if (!std::isfinite(norm) || scale >= 1) return norm;
  at::_foreach_mul_(GradientsOf(network), scale);
  return norm;
}

absl::StatusOr<double> UpdateNetwork(const torch::nn::Module& network,
                                     double max_norm, Optimizer& optimizer,
                                     GradientScaler* scaler) {
  bool skip = false;
  if (scaler != nullptr) {
    skip = scaler->Unscale(network.parameters());
    scaler->Update(skip);
  }
  if (skip && scaler->IsExhausted()) {
    return Annotate(NotFinite(network), "whatever the loss scale");
  }
  if (skip) return 0.0;
  const double norm = ClipGradientNorm(network, max_norm);
  if (!std::isfinite(norm)) return NotFinite(network);
  GANDEM_RETURN_IF_ERROR(optimizer.Step());
  return norm;
}

}  // namespace gandem
