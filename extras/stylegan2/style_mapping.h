// SPDX-License-Identifier: Apache-2.0
//
// Where the styles of StyleGAN2 come from (Karras et al. 2019, "A style-based
// generator architecture for generative adversarial networks"): fully connected
// layers that make them of noise, the mean of the styles of the training, and
// the mixing of two styles in one image.
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "extras/stylegan2/stylegan2_layers.h"
#include "models/layers/drawing_layer.h"

namespace gandem {

// Vectors of mean square 1, fully connected layers, and a label beside them.
//
// Training changes the mean style: w_avg becomes 0.995 w_avg + 0.005 times the
// mean of a step's styles. Passes of one step count as one pass over all their
// images, so micro-batches have the mean that one pass would; for fleets see
// kImageMeanSuffix.
class StyleMapping : public torch::nn::Module {
 public:
  struct Options {
    int64_t noise_dim = 0;    // 0: of a label alone
    int64_t num_classes = 0;  // 0: no label
    int64_t style_dim = 0;    // required, >= 1
    int64_t layers = 0;       // required, >= 1
    bool has_mean = false;    // keeps the mean style
  };
  explicit StyleMapping(const Options& options);
  // NZ (undefined: noise_dim is 0), int64 N -> NS
  at::Tensor forward(const at::Tensor& noise_NZ, const at::Tensor& labels_N,
                     ForwardMode mode);

  // The two below are for has_mean. Styles of a training pass of `step`.
  void Record(const at::Tensor& style_NS, int64_t step);
  // w_avg + psi (style - w_avg): images that are nearer to the mean image, for
  // psi below 1.
  at::Tensor Truncated(const at::Tensor& style_NS) const;

  void set_psi(double psi) { psi_ = psi; }

 private:
  const Options options_;
  std::shared_ptr<EqualLinear> embed_;  // null: no label
  std::vector<std::shared_ptr<EqualLinear>> layers_;
  at::Tensor mean_S_;  // w_avg; undefined: not has_mean
  double psi_ = 1;

  // Of the step that was recorded last.
  int64_t step_ = -1;
  int64_t version_ = 0;  // of mean_S_, as Record left it
  at::Tensor before_S_;  // mean_S_ before it
  at::Tensor sum_S_;     // of its styles
  int64_t count_ = 0;    // of its images
};

// What is drawn for each image of a training pass: whether it has two styles,
// the layer at which the second begins, and that style's noise.
class StyleMixing : public DrawingLayer {
 public:
  struct Options {
    double probability = 0;  // of a second style
    int64_t num_layers = 0;  // required, >= 2
  };
  explicit StyleMixing(const Options& options);

  // int64 N, on the CPU: in [1, num_layers); num_layers: one style.
  at::Tensor Begins(const at::Tensor& place, int64_t images) const;
  // NZ -> NZ: other noise, whatever the first is.
  at::Tensor ForwardGiven(const at::Tensor& noise_NZ, const at::Tensor& place,
                          ForwardMode mode) override;

 private:
  // The first numbers of an image's stream.
  int64_t DrawBegin(PhiloxStream& stream) const;

  const Options options_;
};

}  // namespace gandem
