// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rules/adam.h"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

namespace gandem {
namespace {

class Adam : public UpdateRule {
 public:
  Adam(const AdamOptions& options, const TensorsByName& parameters)
      : UpdateRule(parameters), options_(options) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const auto fused = options_.decoupled_weight_decay
                           ? static_cast<Fused*>(at::_fused_adamw_)
                           : static_cast<Fused*>(at::_fused_adam_);
    // The kernel reads the step where the parameters are.
    const at::Tensor step_tensor =
        at::full({}, static_cast<double>(step),
                 parameters_.front().options().dtype(at::kFloat));
    const Tensors steps(parameters_.size(), step_tensor);
    fused(parameters_, gradients, exp_avgs_, exp_avg_sqs_,
          /*max_exp_avg_sqs=*/{}, steps, learning_rate, options_.beta1,
          options_.beta2, options_.weight_decay, options_.eps,
          /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{},
          /*found_inf=*/{});
  }

 private:
  using Fused = void(at::TensorList, at::TensorList, at::TensorList,
                     at::TensorList, at::TensorList, at::TensorList, double,
                     double, double, double, double, bool, bool,
                     const std::optional<at::Tensor>&,
                     const std::optional<at::Tensor>&);

  const AdamOptions options_;
  const Tensors exp_avgs_ = AddState("exp_avg");
  const Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeAdam(const AdamOptions& options,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adam>(options, parameters);
}

}  // namespace gandem
