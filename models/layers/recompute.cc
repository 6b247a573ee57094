// SPDX-License-Identifier: Apache-2.0
#include "models/layers/recompute.h"

#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "common/check.h"
#include "models/autocast.h"
#include "models/layers/parameter_weights.h"
#include "models/torch.h"

namespace gandem {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// Spectral norm's vectors and their values after the first pass.
class StoredVectors {
 public:
  explicit StoredVectors(const torch::nn::Module& block) {
    const torch::NoGradGuard no_grad;
    for (const auto& item : block.named_buffers()) {
      if (!absl::EndsWith(item.key(), "weight_u") &&
          !absl::EndsWith(item.key(), "weight_v")) {
        continue;
      }
      vectors_.emplace_back(item.value(), item.value().clone());
    }
  }

  // Exchanges current and stored values. A second call undoes the first.
  void Swap() {
    const torch::NoGradGuard no_grad;
    for (auto& [buffer, stored] : vectors_) {
      at::Tensor present = buffer.clone();
      buffer.copy_(stored);
      stored = std::move(present);
    }
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> vectors_;
};

// Graph node that replaces the inside of a block. Its inputs are those of the
// block, followed by the block's parameters.
class RecomputeNode : public torch::autograd::Node {
 public:
  RecomputeNode(std::shared_ptr<torch::nn::Module> block,
                const std::vector<at::Tensor>& inputs,
                const std::vector<at::Tensor>& parameters, ForwardMode mode,
                BlockForward forward, at::DeviceType device)
      : block_(std::move(block)),
        parameters_(parameters),
        mode_(mode),
        forward_(std::move(forward)),
        vectors_(*block_),
        autocast_(AutocastState::Current(device)),
        weights_N_(ParameterWeightsScope::Current()) {
    for (const at::Tensor& input : inputs) {
      inputs_.emplace_back(input, /*is_output=*/false);
    }
    variable_list all = inputs;
    all.insert(all.end(), parameters.begin(), parameters.end());
    set_next_edges(torch::autograd::collect_next_edges(all));
  }

  std::string name() const override { return "gandem::RecomputeNode"; }

  variable_list apply(variable_list&& gradients) override {
    variable_list result(num_outputs());
    if (!gradients[0].defined()) return result;
    variable_list inputs;
    for (const SavedVariable& input : inputs_) inputs.push_back(input.unpack());
    variable_list wanted;
    std::vector<size_t> places;
    for (size_t i = 0; i < num_outputs(); ++i) {
      if (!task_should_compute_output(i)) continue;
      wanted.push_back(i < inputs.size() ? inputs[i]
                                         : parameters_[i - inputs.size()]);
      places.push_back(i);
    }
    // A graph of the gradient begins at the block's own inputs.
    const bool create_graph = torch::GradMode::is_enabled();
    const variable_list found = torch::autograd::grad(
        {SecondPass(inputs)}, wanted, {gradients[0]},
        /*retain_graph=*/create_graph, create_graph, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i) result[places[i]] = found[i];
    return result;
  }

  void release_variables() override {
    for (SavedVariable& input : inputs_) input.reset_data();
  }

 private:
  // Runs the block with spectral norm's stored vectors, recording nothing.
  at::Tensor SecondPass(const variable_list& inputs) {
    const torch::AutoGradMode with_graph(true);
    const AutocastScope autocast(autocast_);
    const ParameterWeightsScope weights(weights_N_);
    vectors_.Swap();
    at::Tensor output = forward_(
        inputs, mode_ == ForwardMode::kTrain ? ForwardMode::kFrozen : mode_);
    vectors_.Swap();
    return output;
  }

  const std::shared_ptr<torch::nn::Module> block_;
  std::vector<SavedVariable> inputs_;
  const std::vector<at::Tensor> parameters_;
  const ForwardMode mode_;
  const BlockForward forward_;
  StoredVectors vectors_;
  const AutocastState autocast_;
  const at::Tensor weights_N_;  // undefined: none
};

bool AnyRequiresGrad(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.requires_grad()) return true;
  }
  return false;
}

}  // namespace

// Keeps no graph in the first pass; a RecomputeNode makes it when needed.
at::Tensor Recompute(std::shared_ptr<torch::nn::Module> block,
                     const std::vector<at::Tensor>& inputs, ForwardMode mode,
                     BlockForward forward) {
  const std::vector<at::Tensor> parameters = block->parameters();
  if (!torch::GradMode::is_enabled() ||
      (!AnyRequiresGrad(inputs) && !AnyRequiresGrad(parameters))) {
    return forward(inputs, mode);
  }
  at::Tensor output;
  {
    const torch::NoGradGuard no_graph;
    output = forward(inputs, mode);
  }
  GANDEM_CHECK(!output.is_view());
  const auto node = std::make_shared<RecomputeNode>(
      std::move(block), inputs, parameters, mode, std::move(forward),
      output.device().type());
  torch::autograd::set_history(output, node);
  return output;
}

}  // namespace gandem
