// SPDX-License-Identifier: Apache-2.0
#include "models/registry/shapes_only.h"

#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

// LibTorch's key for this purpose, without kernels of its own.
constexpr c10::DispatchKey kShapesOnlyKey = c10::DispatchKey::DeferredInit;

// Calls the operator with the meta device for device arguments.
void CallOnMeta(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "device") {
      (*stack)[first + i] = c10::Device(c10::kMeta);
    }
  }
  const c10::impl::ExcludeDispatchKeyGuard exclude(kShapesOnlyKey);
  op.callBoxed(stack);
}

// Operators whose shapes LibTorch computes only in Python, as far as evaluating
// passes of gandem's networks need them.
at::Tensor ConvolutionShape(const at::Tensor& input, const at::Tensor& weight,
                            const std::optional<at::Tensor>& /*bias*/,
                            at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation, bool transposed,
                            at::IntArrayRef output_padding, int64_t groups) {
  std::vector<int64_t> shape = {
      input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
  for (size_t i = 0; i < stride.size(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 2;
    const int64_t extent = dilation[i] * (weight.size(dim) - 1) + 1;
    shape.push_back(
        transposed
            ? (input.size(dim) - 1) * stride[i] - 2 * padding[i] + extent +
                  output_padding[i]
            : (input.size(dim) + 2 * padding[i] - extent) / stride[i] + 1);
  }
  return input.new_empty(shape);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> BatchNormShape(
    const at::Tensor& input, const std::optional<at::Tensor>& /*weight*/,
    const std::optional<at::Tensor>& /*bias*/,
    const std::optional<at::Tensor>& /*running_mean*/,
    const std::optional<at::Tensor>& /*running_var*/, bool /*training*/,
    double /*momentum*/, double /*eps*/) {
  const at::Tensor saved = input.new_empty({input.size(1)});
  return {at::empty_like(input), saved, saved};
}

at::Tensor ReluShape(const at::Tensor& input) { return at::empty_like(input); }

at::Tensor& ReluInPlaceShape(at::Tensor& input) { return input; }

at::Tensor DotShape(const at::Tensor& a, const at::Tensor& /*b*/) {
  return a.new_empty({});
}

at::Tensor IndexSelectShape(const at::Tensor& from, int64_t dim,
                            const at::Tensor& index) {
  std::vector<int64_t> shape = from.sizes().vec();
  shape.at(dim) = index.numel();
  return from.new_empty(shape);
}

// Registers kernels permanently on first use: a program with Python has kernels
// of its own for some operators.
void RegisterKernels() {
  static torch::Library& mode =
      *new torch::Library(MAKE_TORCH_LIBRARY_IMPL(_, DeferredInit));
  mode.fallback(torch::CppFunction::makeFromBoxedFunction<&CallOnMeta>());
  static torch::Library& meta =
      *new torch::Library(MAKE_TORCH_LIBRARY_IMPL(aten, Meta));
  meta.impl("convolution_overrideable", &ConvolutionShape);
  meta.impl("native_batch_norm", &BatchNormShape);
  meta.impl("relu", &ReluShape);
  meta.impl("relu_", &ReluInPlaceShape);
  meta.impl("dot", &DotShape);
  meta.impl("index_select", &IndexSelectShape);
}

c10::DispatchKey KeyWithKernels() {
  static const bool registered = (RegisterKernels(), true);
  (void)registered;
  return kShapesOnlyKey;
}

}  // namespace

ShapesOnly::ShapesOnly() : include_(KeyWithKernels()) {}

}  // namespace gandem
