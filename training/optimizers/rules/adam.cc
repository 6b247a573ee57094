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

#include <concepts>

#include "common/half_cosine.h"
#include "training/optimizers/rules/families.h"

namespace gandem {
namespace {

// AdamW shrinks parameters by learning rate * weight_decay. Adam adds
// weight_decay * parameter to the gradient (L2).
template <typename Config>
class Adam : public UpdateRule {
 public:
  Adam(const Config& config, const TensorsByName& parameters)
      : UpdateRule(parameters), config_(config) {}

  void Apply(const Tensors& gradients, double learning_rate,
             int64_t step) override {
    const auto fused = std::same_as<Config, AdamwConfig>
                           ? static_cast<Fused*>(at::_fused_adamw_)
                           : static_cast<Fused*>(at::_fused_adam_);
    // The kernel needs the step on the parameters' device.
    const at::Tensor step_tensor =
        at::full({}, static_cast<double>(step),
                 parameters_.front().options().dtype(at::kFloat));
    const Tensors steps(parameters_.size(), step_tensor);
    fused(parameters_, gradients, exp_avgs_, exp_avg_sqs_,
          /*max_exp_avg_sqs=*/{}, steps, learning_rate, config_.beta1(),
          Beta2(step), config_.weight_decay(), config_.eps(),
          /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{},
          /*found_inf=*/{});
  }

 private:
  // Returns beta2 of update `step`, counted from 1.
  double Beta2(int64_t step) const {
    if constexpr (std::same_as<Config, AdamConfig>) {
      if (config_.beta2_steps() > 0) {
        return HalfCosine(config_.beta2(), config_.final_beta2(),
                          static_cast<double>(step - 1),
                          static_cast<double>(config_.beta2_steps()));
      }
    }
    return config_.beta2();
  }

  using Fused = void(at::TensorList, at::TensorList, at::TensorList,
                     at::TensorList, at::TensorList, at::TensorList, double,
                     double, double, double, double, bool, bool,
                     const std::optional<at::Tensor>&,
                     const std::optional<at::Tensor>&);

  const Config config_;
  const Tensors exp_avgs_ = AddState("exp_avg");
  const Tensors exp_avg_sqs_ = AddState("exp_avg_sq");
};

}  // namespace

std::unique_ptr<UpdateRule> MakeRule(const AdamConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adam<AdamConfig>>(config, parameters);
}

std::unique_ptr<UpdateRule> MakeRule(const AdamwConfig& config,
                                     const TensorsByName& parameters) {
  return std::make_unique<Adam<AdamwConfig>>(config, parameters);
}

}  // namespace gandem
