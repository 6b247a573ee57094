// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/gradients.h"

#include <cmath>
#include <vector>

#include "common/status.h"
#include "models/torch.h"

namespace gandem {

double GradientNorm(const torch::nn::Module& network) {
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& parameter : network.parameters()) {
    if (parameter.grad().defined()) norms.push_back(parameter.grad().norm());
  }
  if (norms.empty()) return 0;
  return at::stack(norms).norm().item<double>();
}

double ClipGradientNorm(const torch::nn::Module& network, double max_norm) {
  const torch::NoGradGuard no_grad;
  const double norm = GradientNorm(network);
  const double scale = max_norm / (norm + 1e-6);
  if (!std::isfinite(norm) || scale >= 1) return norm;
  for (const at::Tensor& parameter : network.parameters()) {
    if (parameter.grad().defined()) parameter.grad().mul_(scale);
  }
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
  if (skip) return 0.0;
  const double norm = ClipGradientNorm(network, max_norm);
  GANDEM_RETURN_IF_ERROR(optimizer.Step());
  return norm;
}

}  // namespace gandem
