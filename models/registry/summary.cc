// SPDX-License-Identifier: Apache-2.0
#include "models/registry/summary.h"

#include <ATen/record_function.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/check.h"
#include "models/torch.h"

namespace gandem {
namespace {

using Shape = std::vector<int64_t>;

enum class Cost {
  kNone,
  kOfOutputs,  // each output is a product with a weight row
  kOfInputs,   // each input is
};

// Positions of the arguments of an operator that computes a layer.
struct LayerOperator {
  const char* name;
  Cost cost;
  size_t parameter;  // identifies the module
  size_t fallback;   // if a layer lacks or computes `parameter`
};
constexpr LayerOperator kLayerOperators[] = {
    {"aten::conv1d", Cost::kOfOutputs, 1, 2},
    {"aten::conv2d", Cost::kOfOutputs, 1, 2},
    {"aten::conv3d", Cost::kOfOutputs, 1, 2},
    {"aten::conv_transpose1d", Cost::kOfInputs, 1, 2},
    {"aten::conv_transpose2d", Cost::kOfInputs, 1, 2},
    {"aten::conv_transpose3d", Cost::kOfInputs, 1, 2},
    {"aten::linear", Cost::kOfOutputs, 1, 2},
    {"aten::embedding", Cost::kNone, 0, 0},
    {"aten::batch_norm", Cost::kNone, 3, 1},
    {"aten::group_norm", Cost::kNone, 2, 2},
    {"aten::layer_norm", Cost::kNone, 2, 2},
};
constexpr absl::string_view kAttention =
    "aten::_scaled_dot_product_flash_attention_for_cpu";

const LayerOperator* FindOperator(absl::string_view name) {
  for (const LayerOperator& op : kLayerOperators) {
    if (name == op.name) return &op;
  }
  return nullptr;
}

int64_t Count(const std::vector<at::Tensor>& tensors) {
  int64_t count = 0;
  for (const at::Tensor& tensor : tensors) count += tensor.numel();
  return count;
}

int64_t MultiplyAdds(Cost cost, const at::Tensor& input,
                     const at::Tensor& weight, const at::Tensor& output) {
  switch (cost) {
    case Cost::kNone:
      return 0;
    case Cost::kOfOutputs:
      return output.numel() * weight[0].numel();
    case Cost::kOfInputs:
      return input.numel() * weight[0].numel();
  }
  return 0;
}

struct Call : at::ObserverContext {
  std::vector<at::Tensor> tensors;
};

// Traces this thread's operators during its lifetime.
class Tracer {
 public:
  explicit Tracer(const torch::nn::Module& network) {
    for (const auto& item : network.named_modules("", /*include_self=*/false)) {
      const torch::nn::Module& module = *item.value();
      const LayerSummary layer{
          .name = item.key(),
          .parameters = Count(module.parameters(/*recurse=*/false)),
          .buffers = Count(module.buffers(/*recurse=*/false))};
      for (const at::Tensor& tensor : module.parameters(/*recurse=*/false)) {
        known_[StorageOf(tensor)] = layer;
      }
      if (layer.parameters > 0) owners_.push_back(layer);
      for (const at::Tensor& tensor : module.buffers(/*recurse=*/false)) {
        known_[StorageOf(tensor)] = layer;
      }
    }
    summary_.parameters = Count(network.parameters());
    summary_.buffers = Count(network.buffers());
    GANDEM_CHECK(current_ == nullptr);
    current_ = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&Tracer::OnStart, &Tracer::OnEnd)
            .needsInputs(true)
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
  }
  ~Tracer() {
    at::removeCallback(handle_);
    current_ = nullptr;
  }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  NetworkSummary Finish() {
    std::set<std::string> seen;
    for (const LayerSummary& layer : summary_.layers) seen.insert(layer.name);
    for (LayerSummary& owner : owners_) {
      if (seen.contains(owner.name)) continue;
      owner.kind = "parameters";
      summary_.layers.push_back(std::move(owner));
    }
    return std::move(summary_);
  }

 private:
  static std::unique_ptr<at::ObserverContext> OnStart(
      const at::RecordFunction& function) {
    auto call = std::make_unique<Call>();
    for (const c10::IValue& input : function.inputs()) {
      call->tensors.push_back(input.isTensor() ? input.toTensor()
                                               : at::Tensor());
    }
    return call;
  }

  static void OnEnd(const at::RecordFunction& function,
                    at::ObserverContext* context) {
    const auto& outputs = function.outputs();
    if (outputs.empty() || !outputs[0].isTensor()) return;
    current_->Record(function.name(), static_cast<Call*>(context)->tensors,
                     outputs[0].toTensor());
  }

  void Record(absl::string_view name, const std::vector<at::Tensor>& inputs,
              const at::Tensor& output) {
    if (name == "aten::bmm") {
      summary_.multiply_adds += output.numel() * inputs[0].size(2);
    } else if (name == kAttention) {
      // Products of queries and keys, and of the results and values.
      summary_.multiply_adds +=
          (inputs[0].numel() + output.numel()) * inputs[1].size(-2);
    } else if (name == "aten::div" || name == "aten::to" ||
               name == "aten::_weight_norm") {
      Derive(inputs[0], output);
    } else if (const LayerOperator* const op = FindOperator(name)) {
      AddLayer(*op, inputs, output);
    }
  }

  // Handles spectral norm, weight norm and conversions, where the layer
  // computes with a tensor derived from its parameter.
  void Derive(const at::Tensor& from, const at::Tensor& to) {
    const auto found = known_.find(StorageOf(from));
    if (found == known_.end()) return;
    known_[StorageOf(to)] = LayerSummary(found->second);
    derived_.push_back(to);  // keeps its storage from being reused
  }

  void AddLayer(const LayerOperator& op, const std::vector<at::Tensor>& inputs,
                const at::Tensor& output) {
    auto found = known_.find(StorageOf(inputs[op.parameter]));
    if (found == known_.end()) {
      found = known_.find(StorageOf(inputs[op.fallback]));
    }
    LayerSummary layer = found == known_.end() ? LayerSummary() : found->second;
    layer.kind = std::string(absl::StripPrefix(op.name, "aten::"));
    layer.output_shape =
        Shape(output.sizes().begin() + 1, output.sizes().end());
    layer.multiply_adds =
        MultiplyAdds(op.cost, inputs[0], inputs[op.parameter], output);
    summary_.multiply_adds += layer.multiply_adds;
    summary_.activation_bytes += 4 * output.numel();
    summary_.layers.push_back(std::move(layer));
  }

  static const void* StorageOf(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return nullptr;
    return tensor.storage().unsafeGetStorageImpl();
  }

  static thread_local Tracer* current_;  // callbacks are plain functions

  // Layers by the storage of their parameters, buffers and derived tensors.
  std::map<const void*, LayerSummary> known_;
  std::vector<at::Tensor> derived_;
  std::vector<LayerSummary> owners_;  // modules with parameters, in order
  NetworkSummary summary_;
  at::CallbackHandle handle_ = 0;
};

thread_local Tracer* Tracer::current_ = nullptr;

at::Device DeviceOf(const torch::nn::Module& network) {
  const std::vector<at::Tensor> parameters = network.parameters();
  return parameters.empty() ? at::Device(at::kCPU)
                            : parameters.front().device();
}

at::Tensor SampleImage(const DataShape& data, at::Device device) {
  const ImageShape& image = data.image;
  return torch::zeros({1, image.channels, image.height, image.width}, device);
}

template <typename Network>
NetworkSummary SummarizePass(Network& network, const at::Tensor& input,
                             const DataShape& data) {
  const torch::NoGradGuard no_grad;
  Condition condition = {.images_NCHW = SampleImage(data, input.device())};
  // User networks without classes accept no labels.
  if (data.num_classes > 0) {
    condition.labels_N = torch::zeros({1}, input.options().dtype(at::kLong));
  }
  Tracer tracer(network);
  network.forward(input, condition, ForwardMode::kEvaluate);
  return tracer.Finish();
}

}  // namespace

NetworkSummary Summarize(Generator& generator, const DataShape& data) {
  return SummarizePass(
      generator, torch::zeros({1, generator.noise_dim()}, DeviceOf(generator)),
      data);
}

NetworkSummary Summarize(Discriminator& discriminator, const DataShape& data) {
  return SummarizePass(discriminator,
                       SampleImage(data, DeviceOf(discriminator)), data);
}

}  // namespace gandem
