// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/update_rule.h"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "absl/strings/str_cat.h"

namespace gandem {

std::vector<double> Norms(const Tensors& tensors) {
  // Transfer all norms at once.
  const at::Tensor norms =
      at::stack(at::_foreach_norm(tensors)).to(at::kCPU, at::kDouble);
  const double* const data = norms.const_data_ptr<double>();
  return {data, data + norms.numel()};
}

UpdateRule::UpdateRule(const TensorsByName& parameters) {
  for (const auto& [name, tensor] : parameters) {
    names_.push_back(name);
    parameters_.push_back(tensor);
  }
}

Tensors UpdateRule::AddState(const std::string& name) {
  Tensors tensors;
  for (const at::Tensor& parameter : parameters_) {
    tensors.push_back(at::zeros_like(parameter.detach()));
  }
  AddState(name, tensors);
  return tensors;
}

void UpdateRule::AddState(const std::string& name, const Tensors& tensors) {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (!tensors[i].defined()) continue;
    state_.emplace_back(absl::StrCat(name, ".", names_[i]), tensors[i]);
  }
}

Tensors UpdateRule::EmptyLikeParameters() const {
  Tensors tensors;
  for (const at::Tensor& parameter : parameters_) {
    tensors.push_back(at::empty_like(parameter.detach()));
  }
  return tensors;
}

}  // namespace gandem
