// SPDX-License-Identifier: Apache-2.0
//
// Adam (Kingma and Ba 2015, algorithm 1) and AdamW (Loshchilov and Hutter 2019,
// algorithm 2) in PyTorch's form and by LibTorch's fused kernels: eps is added
// to the root of the corrected second moment.
//
// State: "exp_avg.<parameter>", "exp_avg_sq.<parameter>".
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

struct AdamOptions {
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  // AdamW: parameters shrink by learning rate * weight_decay. Otherwise
  // weight_decay * parameter is added to the gradient (L2).
  bool decoupled_weight_decay = false;
};

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

std::unique_ptr<UpdateRule> MakeRule(const AdamConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adam>(
      AdamOptions{.beta1 = config.beta1(),
                  .beta2 = config.beta2(),
                  .eps = config.eps(),
                  .weight_decay = config.weight_decay()},
      parameters);
}

std::unique_ptr<UpdateRule> MakeRule(const AdamwConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adam>(
      AdamOptions{.beta1 = config.beta1(),
                  .beta2 = config.beta2(),
                  .eps = config.eps(),
                  .weight_decay = config.weight_decay(),
                  .decoupled_weight_decay = true},
      parameters);
}

}  // namespace gandem
