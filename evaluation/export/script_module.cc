// SPDX-License-Identifier: Apache-2.0
#include "evaluation/export/script_module.h"

#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/script.h>

#include <algorithm>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kTracedImages = 2;
// Other batch sizes reveal a batch size that was recorded as a constant.
constexpr std::initializer_list<int64_t> kCheckedImages = {1, 3, 5};
// The operations and their order are the same. Only the kernel that PyTorch
// chooses for another batch size may differ.
constexpr double kScriptTolerance = 1e-5;

// Names and tensors of forward's arguments, without undefined and empty ones.
std::vector<std::pair<std::string, at::Tensor*>> PartsOf(
    GeneratorInputs& inputs) {
  std::vector<std::pair<std::string, at::Tensor*>> parts = {
      {"noise", &inputs.noise_NZ},
      {"labels", &inputs.condition.labels_N},
      {"images", &inputs.condition.images_NCHW}};
  std::erase_if(parts, [](const auto& part) {
    return !part.second->defined() || part.second->numel() == 0;
  });
  return parts;
}

torch::jit::Stack StackOf(GeneratorInputs& inputs) {
  torch::jit::Stack stack;
  for (const auto& [name, tensor] : PartsOf(inputs)) stack.push_back(*tensor);
  return stack;
}

// Copies the tree of modules with its tensors and names. A class gets the path
// of its module as its name, because class names must be unique.
torch::jit::Module MirrorOf(
    const torch::nn::Module& network, const std::string& name,
    const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module mirror{c10::QualifiedName(name), unit};
  // Python's train() and eval() set it; a recorded pass does not read it.
  mirror.register_attribute("training", c10::BoolType::get(), false);
  for (const auto& item : network.named_parameters(/*recurse=*/false)) {
    mirror.register_parameter(item.key(), item.value(), /*is_buffer=*/false);
  }
  for (const auto& item : network.named_buffers(/*recurse=*/false)) {
    mirror.register_parameter(item.key(), item.value(), /*is_buffer=*/true);
  }
  for (const auto& item : network.named_children()) {
    mirror.register_module(
        item.key(),
        MirrorOf(*item.value(), absl::StrCat(name, "_", item.key()), unit));
  }
  return mirror;
}

// Removes inputs that the recorded pass does not read, such as labels of a
// single class. Input 0 is the module.
void DropUnused(torch::jit::Graph& graph, std::vector<std::string>& arguments) {
  for (size_t i = arguments.size(); i-- > 0;) {
    if (graph.inputs()[i + 1]->hasUses()) continue;
    graph.eraseInput(i + 1);
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void AddForward(Generator& network, GeneratorInputs inputs,
                torch::jit::Module& module,
                std::vector<std::string>& arguments) {
  for (const auto& part : PartsOf(inputs)) arguments.push_back(part.first);
  const auto pass = [&](torch::jit::Stack traced) -> torch::jit::Stack {
    GeneratorInputs given = inputs;
    size_t next = 0;
    for (const auto& part : PartsOf(given)) {
      *part.second = traced[next++].toTensor();
    }
    return {network.forward(given.noise_NZ, given.condition,
                            ForwardMode::kEvaluate)};
  };
  const auto no_name = [](const at::Tensor&) { return std::string(); };
  const auto [state, outputs] =
      torch::jit::tracer::trace(StackOf(inputs), pass, no_name, /*strict=*/true,
                                /*force_outplace=*/false, &module, arguments);
  torch::jit::EliminateDeadCode(state->graph);
  DropUnused(*state->graph, arguments);
  torch::jit::Function* const forward =
      module._ivalue()->compilation_unit()->create_function(
          c10::QualifiedName(*module.type()->name(), "forward"), state->graph);
  module.type()->addMethod(forward);
}

// Returns an undefined tensor if an operation fails because it was recorded for
// another number of images.
at::Tensor ImagesOf(torch::jit::Module& module, torch::jit::Stack inputs) {
  try {
    return module.forward(std::move(inputs)).toTensor();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return {};
  }
}

absl::Status Compare(Generator& network, torch::jit::Module& module,
                     const std::vector<std::string>& arguments,
                     GeneratorInputs inputs) {
  const at::Tensor expected = network.forward(inputs.noise_NZ, inputs.condition,
                                              ForwardMode::kEvaluate);
  torch::jit::Stack stack;
  for (const auto& [name, tensor] : PartsOf(inputs)) {
    if (std::find(arguments.begin(), arguments.end(), name) !=
        arguments.end()) {
      stack.push_back(*tensor);
    }
  }
  const at::Tensor images_NCHW = ImagesOf(module, std::move(stack));
  const bool same =
      images_NCHW.defined() && images_NCHW.sizes() == expected.sizes() &&
      at::allclose(images_NCHW, expected, /*rtol=*/0, kScriptTolerance);
  if (same) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "the recorded network makes other images than the run's for a batch of ",
      expected.size(0), " (it was recorded with ", kTracedImages,
      "): its code reads the batch size from a shape as a plain number "
      "(models/network.h), or draws random numbers. Nothing was written; use "
      "-o FILE.safetensors instead"));
}

}  // namespace

absl::StatusOr<ScriptModule> MakeScriptModule(Generator& network,
                                              GeneratorInputsOf inputs_of) {
  const torch::NoGradGuard no_grad;
  ScriptModule result;
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module = MirrorOf(network, "__torch__.Generator", unit);
  GANDEM_ASSIGN_OR_RETURN(const GeneratorInputs traced,
                          inputs_of(kTracedImages));
  AddForward(network, traced, module, result.arguments);
  std::ostringstream out;
  module.save(out);
  result.bytes = std::move(out).str();
  std::istringstream in(result.bytes);
  torch::jit::Module read = torch::jit::load(in);
  for (const int64_t count : kCheckedImages) {
    GANDEM_ASSIGN_OR_RETURN(const GeneratorInputs inputs, inputs_of(count));
    GANDEM_RETURN_IF_ERROR(Compare(network, read, result.arguments, inputs));
  }
  return result;
}

}  // namespace gandem
