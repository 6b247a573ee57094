// SPDX-License-Identifier: Apache-2.0
//
// Weights images in the gradients of parameters only. After a forward pass
// within a ParameterWeightsScope, the backward pass from sum_i logit_i computes
//
//   to parameters  sum_i weight_i * d(logit_i)/d(parameter)
//   to images      d(logit_i)/d(image_i), as without weights
//
// so that one backward pass serves two losses that depend on an image only
// through its own logit: the slopes of one loss are the weights, those of the
// other multiply the image gradients afterwards (training/objective/fused.h).
// Exact for networks in which images do not affect each other.
//
//   at::Tensor weights_N = at::zeros({n});
//   const Verdict verdict = [&] {
//     const ParameterWeightsScope scope(weights_N);
//     return network->forward(images_NCHW, condition, ForwardMode::kTrain);
//   }();
//   weights_N.copy_(...);  // may depend on the logits
//   verdict.logits.One().sum().backward();
//
// Layers with parameters use these. Outside a scope they ignore weights.
//
// Thread safety: a scope belongs to the calling thread, a graph to the thread
// that made it. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace gandem {

class ParameterWeightsScope {
 public:
  // An undefined tensor disables weights until the end of the scope.
  explicit ParameterWeightsScope(const at::Tensor& weights_N);
  ~ParameterWeightsScope();
  ParameterWeightsScope(const ParameterWeightsScope&) = delete;
  ParameterWeightsScope& operator=(const ParameterWeightsScope&) = delete;

  // Returns the weights of the innermost scope; undefined if there are none.
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

// Inputs are NCHW and NI; bias may be undefined.
at::Tensor WeighedConvolution(const at::Tensor& input, const at::Tensor& weight,
                              const at::Tensor& bias,
                              const ConvolutionShape& shape);
at::Tensor WeighedLinear(const at::Tensor& input, const at::Tensor& weight,
                         const at::Tensor& bias);
// Weights rows of `values`; row i must be computed for image i only.
at::Tensor WeighedRows(const at::Tensor& values);
// Returns a copy of a parameter per image, [images, ...], or the parameter
// itself if that makes no difference.
at::Tensor WeighedCopies(const at::Tensor& parameter, int64_t images);

}  // namespace gandem
