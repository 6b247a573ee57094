// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/update_rule.h"

#include <ATen/ops/zeros_like.h>

#include "absl/strings/str_cat.h"

namespace gandem {

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

}  // namespace gandem
