// SPDX-License-Identifier: Apache-2.0
#include "training/adam.h"

#include <torch/torch.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/faults.h"

namespace gandem {
namespace {

constexpr double kBelowOne = 1 - std::numeric_limits<double>::epsilon();
constexpr double kSmallestEps = std::numeric_limits<float>::min();
constexpr double kLargest = 1e6;

}  // namespace

absl::StatusOr<std::unique_ptr<Adam>> Adam::Create(
    const Options& options, const torch::nn::Module& network) {
  Faults faults("adam");
  faults.CheckRange("learning_rate", options.learning_rate, 0, kLargest);
  faults.CheckRange("beta1", options.beta1, 0, kBelowOne);
  faults.CheckRange("beta2", options.beta2, 0, kBelowOne);
  faults.CheckRange("eps", options.eps, kSmallestEps, kLargest);
  faults.CheckRange("weight_decay", options.weight_decay, 0, kLargest);
  if (!faults.empty()) return faults.ToStatus();
  return std::unique_ptr<Adam>(new Adam(options, network));
}

Adam::Adam(const Options& options, const torch::nn::Module& network)
    : options_(options) {
  const torch::NoGradGuard no_grad;
  for (const auto& item : network.named_parameters()) {
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    exp_avgs_.push_back(at::zeros_like(item.value()));
    exp_avg_sqs_.push_back(at::zeros_like(item.value()));
  }
  // The fused kernel reads the step where the parameters are.
  step_ = at::zeros({}, parameters_.at(0).options().dtype(at::kFloat));
}

absl::Status Adam::Step() {
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    if (!gradient.defined()) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter ", names_[i],
                       " has no gradient: no backward pass has reached it"));
    }
    // The kernel walks over plain memory: equal strides or a copy.
    gradients.push_back(gradient.strides() == parameters_[i].strides()
                            ? gradient
                            : at::empty_like(parameters_[i]).copy_(gradient));
  }
  step_.add_(1);
  const std::vector<at::Tensor> steps(parameters_.size(), step_);
  at::_fused_adam_(parameters_, gradients, exp_avgs_, exp_avg_sqs_,
                   /*max_exp_avg_sqs=*/{}, steps, options_.learning_rate,
                   options_.beta1, options_.beta2, options_.weight_decay,
                   options_.eps, /*amsgrad=*/false, /*maximize=*/false);
  return absl::OkStatus();
}

void Adam::ZeroGradients() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

std::vector<std::pair<std::string, at::Tensor>> Adam::State() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  for (size_t i = 0; i < names_.size(); ++i) {
    state.emplace_back(absl::StrCat("exp_avg.", names_[i]), exp_avgs_[i]);
    state.emplace_back(absl::StrCat("exp_avg_sq.", names_[i]), exp_avg_sqs_[i]);
  }
  state.emplace_back("step", step_);
  return state;
}

}  // namespace gandem
