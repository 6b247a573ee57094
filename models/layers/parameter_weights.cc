// SPDX-License-Identifier: Apache-2.0
#include "models/layers/parameter_weights.h"

#include <ATen/autocast_mode.h>

#include <array>
#include <optional>
#include <vector>

#include "models/torch.h"

namespace gandem {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor& CurrentWeights() {
  thread_local at::Tensor weights_N;
  return weights_N;
}

// Casts a factor of a product as autocast would. Casting inside a Function is
// too late: the backward pass must see the multiplied values.
at::Tensor CastFactor(const at::Tensor& factor) {
  const at::DeviceType device = factor.device().type();
  const bool casts =
      at::autocast::is_autocast_enabled(device) &&
      !c10::impl::tls_is_dispatch_key_excluded(
          at::autocast::get_autocast_dispatch_key_from_device_type(device));
  return casts ? at::autocast::cached_cast(
                     at::autocast::get_autocast_dtype(device), factor, device)
               : factor;
}

// Functions do not accept undefined tensors.
std::optional<at::Tensor> CastBias(const at::Tensor& bias) {
  if (!bias.defined()) return std::nullopt;
  return CastFactor(bias);
}

at::Tensor TimesWeights(const at::Tensor& gradient,
                        const at::Tensor& weights_N) {
  std::vector<int64_t> shape(gradient.dim(), 1);
  shape[0] = weights_N.size(0);
  return gradient * weights_N.to(gradient.scalar_type()).view(shape);
}

// Not a saved variable, since weights are written after the forward pass.
constexpr char kWeights[] = "weights";

void KeepWeights(AutogradContext* context) {
  context->saved_data[kWeights] = CurrentWeights();
}
at::Tensor KeptWeights(AutogradContext* context) {
  return context->saved_data[kWeights].toTensor();
}

struct ConvolutionFunction
    : public torch::autograd::Function<ConvolutionFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const ConvolutionShape& shape) {
    context->save_for_backward({input, weight});
    context->saved_data["bias"] = bias ? bias->size(0) : 0;
    context->saved_data["transposed"] = shape.transposed;
    context->saved_data["stride"] = shape.stride;
    context->saved_data["padding"] = shape.padding;
    context->saved_data["output_padding"] = shape.output_padding;
    context->saved_data["groups"] = shape.groups;
    KeepWeights(context);
    return at::convolution(input, weight, bias, shape.stride, shape.padding,
                           /*dilation=*/1, shape.transposed,
                           shape.output_padding, shape.groups);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto number = [&](const char* name) {
      return context->saved_data[name].toInt();
    };
    const int64_t bias = number("bias");
    const int64_t stride = number("stride");
    const int64_t padding = number("padding");
    const int64_t output_padding = number("output_padding");
    const auto backward = [&](const at::Tensor& gradient,
                              const std::array<bool, 3>& wanted) {
      return at::convolution_backward(
          gradient, saved[0], saved[1],
          at::IntArrayRef(&bias, bias > 0 ? 1 : 0),
          at::IntArrayRef{stride, stride}, at::IntArrayRef{padding, padding},
          at::IntArrayRef{1, 1}, context->saved_data["transposed"].toBool(),
          at::IntArrayRef{output_padding, output_padding}, number("groups"),
          wanted);
    };
    at::Tensor of_input;
    if (context->needs_input_grad(0)) {
      of_input = std::get<0>(backward(gradients[0], {true, false, false}));
    }
    // Frozen parameters need no gradient.
    const bool of_weight = context->needs_input_grad(1);
    const bool of_bias = bias > 0 && context->needs_input_grad(2);
    if (!of_weight && !of_bias) {
      return {of_input, at::Tensor(), at::Tensor(), at::Tensor()};
    }
    const auto of_parameters =
        backward(TimesWeights(gradients[0], KeptWeights(context)),
                 {false, of_weight, of_bias});
    return {of_input, std::get<1>(of_parameters), std::get<2>(of_parameters),
            at::Tensor()};
  }
};

struct LinearFunction : public torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& input_NI,
                            const at::Tensor& weight_OI,
                            const std::optional<at::Tensor>& bias) {
    context->save_for_backward({input_NI, weight_OI});
    context->saved_data["bias"] = bias.has_value();
    KeepWeights(context);
    return at::linear(input_NI, weight_OI, bias);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    at::Tensor of_input;
    if (context->needs_input_grad(0)) of_input = at::mm(gradients[0], saved[1]);
    const bool wants_weight = context->needs_input_grad(1);
    const bool wants_bias =
        context->saved_data["bias"].toBool() && context->needs_input_grad(2);
    if (!wants_weight && !wants_bias) {
      return {of_input, at::Tensor(), at::Tensor()};
    }
    const at::Tensor weighed_NO =
        TimesWeights(gradients[0], KeptWeights(context));
    at::Tensor of_weight;
    if (wants_weight) of_weight = at::mm(weighed_NO.t(), saved[0]);
    at::Tensor of_bias;
    if (wants_bias) of_bias = weighed_NO.sum(0);
    return {of_input, of_weight, of_bias};
  }
};

struct RowsFunction : public torch::autograd::Function<RowsFunction> {
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& values) {
    KeepWeights(context);
    return values.view_as(values);
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    return {TimesWeights(gradients[0], KeptWeights(context))};
  }
};

}  // namespace

ParameterWeightsScope::ParameterWeightsScope(const at::Tensor& weights_N)
    : before_(CurrentWeights()) {
  CurrentWeights() = weights_N;
}

ParameterWeightsScope::~ParameterWeightsScope() { CurrentWeights() = before_; }

const at::Tensor& ParameterWeightsScope::Current() { return CurrentWeights(); }

at::Tensor WeighedConvolution(const at::Tensor& input, const at::Tensor& weight,
                              const at::Tensor& bias,
                              const ConvolutionShape& shape) {
  if (CurrentWeights().defined()) {
    return ConvolutionFunction::apply(CastFactor(input), CastFactor(weight),
                                      CastBias(bias), shape);
  }
  return shape.transposed
             ? at::conv_transpose2d(input, weight, bias, shape.stride,
                                    shape.padding, shape.output_padding,
                                    shape.groups)
             : at::conv2d(input, weight, bias, shape.stride, shape.padding,
                          /*dilation=*/1, shape.groups);
}

at::Tensor WeighedLinear(const at::Tensor& input, const at::Tensor& weight,
                         const at::Tensor& bias) {
  if (CurrentWeights().defined()) {
    return LinearFunction::apply(CastFactor(input), CastFactor(weight),
                                 CastBias(bias));
  }
  return at::linear(input, weight, bias);
}

at::Tensor WeighedRows(const at::Tensor& values) {
  return CurrentWeights().defined() ? RowsFunction::apply(values) : values;
}

at::Tensor WeighedCopies(const at::Tensor& parameter, int64_t images) {
  if (!CurrentWeights().defined()) return parameter;
  std::vector<int64_t> shape(parameter.sizes().begin(),
                             parameter.sizes().end());
  shape.insert(shape.begin(), images);
  return RowsFunction::apply(parameter.unsqueeze(0).expand(shape));
}

}  // namespace gandem
