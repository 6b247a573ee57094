// SPDX-License-Identifier: Apache-2.0
//
// Weights of images in the gradients of parameters, and only there. After a
// forward pass in the scope of the weights, the backward pass from sum_i
// logit_i gives
//
//   to parameters  sum_i weight_i * d(logit_i)/d(parameter)
//   to images      d(logit_i)/d(image_i), as without weights
//
// so that one backward pass serves two losses that reach an image through its
// own logit: the slopes of one are the weights, those of the other multiply the
// image gradients afterwards (training/objective/fused.h). Exact for networks
// in which no image sees another one.
//
//   at::Tensor weights_N = at::zeros({n});
//   const Verdict verdict = [&] {
//     const ParameterWeightsScope scope(weights_N);
//     return network->forward(images_NCHW, condition, ForwardMode::kTrain);
//   }();
//   weights_N.copy_(...);  // they may depend on the logits
//   verdict.logits.One().sum().backward();
//
// Every layer with a parameter uses the functions below. Outside of a scope the
// functions ignore weights.
//
// Thread safety: a scope belongs to the calling thread, and the graph to the
// thread that made it, as in Torch. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

class ParameterWeightsScope {
 public:
  // Undefined: no weights until the end of the scope.
  explicit ParameterWeightsScope(const at::Tensor& weights_N);
  ~ParameterWeightsScope();
  ParameterWeightsScope(const ParameterWeightsScope&) = delete;
  ParameterWeightsScope& operator=(const ParameterWeightsScope&) = delete;

  // The weights of the innermost scope; undefined: none.
  static const at::Tensor& Current();

 private:
  const at::Tensor before_;
};

struct ConvolutionShape {
  bool transposed = false;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t output_padding = 0;
  int64_t groups = 1;
};

// Inputs NCHW and NI; bias may be undefined.
at::Tensor WeighedConvolution(const at::Tensor& input, const at::Tensor& weight,
                              const at::Tensor& bias,
                              const ConvolutionShape& shape);
at::Tensor WeighedLinear(const at::Tensor& input, const at::Tensor& weight,
                         const at::Tensor& bias);
// `values`, of which row i was computed of parameters for image i alone.
at::Tensor WeighedRows(const at::Tensor& values);
// A parameter for each of `images` images: [images, ...], or the parameter
// itself if that makes no difference.
at::Tensor WeighedCopies(const at::Tensor& parameter, int64_t images);

}  // namespace gandem
