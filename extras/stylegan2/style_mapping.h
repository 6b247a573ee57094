// SPDX-License-Identifier: Apache-2.0
//
// The styles of StyleGAN2 (Karras et al. 2019, "A style-based generator
// architecture for generative adversarial networks"): fully connected layers
// that map noise to styles, the running mean of styles, and the mixing of two
// styles in one image.
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

// Normalizes noise and an embedded label to mean square 1, then applies fully
// connected layers.
//
// Training updates the mean style: w_avg becomes 0.995 w_avg + 0.005 times the
// mean of a step's styles. All passes of one step count as one pass, so
// micro-batches do not change the mean; for fleets see kImageMeanSuffix.
class StyleMapping : public torch::nn::Module {
 public:
  struct Options {
    int64_t noise_dim = 0;    // 0: the input is only a label
    int64_t num_classes = 0;  // 0: no label
    int64_t style_dim = 0;    // required, >= 1
    int64_t layers = 0;       // required, >= 1
    bool has_mean = false;    // keeps the mean style
  };
  explicit StyleMapping(const Options& options);
  // NZ (undefined if noise_dim is 0), int64 N -> NS
  at::Tensor forward(const at::Tensor& noise_NZ, const at::Tensor& labels_N,
                     ForwardMode mode);

  // Updates the mean with the styles of a training pass of `step`. Needs
  // has_mean.
  void Record(const at::Tensor& style_NS, int64_t step);
  // Returns w_avg + psi (style - w_avg). Needs has_mean.
  at::Tensor Truncated(const at::Tensor& style_NS) const;

  void set_psi(double psi) { psi_ = psi; }

 private:
  const Options options_;
  std::shared_ptr<EqualLinear> embed_;  // null without labels
  std::vector<std::shared_ptr<EqualLinear>> layers_;
  at::Tensor mean_S_;  // w_avg; undefined without has_mean
  double psi_ = 1;

  int64_t step_ = -1;    // the last recorded step
  int64_t version_ = 0;  // version of mean_S_ after the last Record
  at::Tensor before_S_;  // mean_S_ before the step
  at::Tensor sum_S_;     // sum of the step's styles
  int64_t count_ = 0;    // number of the step's images
};

// Draws for each image of a training pass whether it has two styles, the layer
// at which the second one begins, and the second style's noise.
class StyleMixing : public DrawingLayer {
 public:
  struct Options {
    double probability = 0;  // probability of a second style
    int64_t num_layers = 0;  // required, >= 2
  };
  explicit StyleMixing(const Options& options);

  // First layer of the second style: int64 N on the CPU, in [1, num_layers), or
  // num_layers if the image has only one style.
  at::Tensor Begins(const at::Tensor& place, int64_t images) const;
  // NZ -> NZ: noise of the second style, independent of the first.
  at::Tensor ForwardGiven(const at::Tensor& noise_NZ, const at::Tensor& place,
                          ForwardMode mode) override;

 private:
  // Takes the first numbers of an image's stream.
  int64_t DrawBegin(PhiloxStream& stream) const;

  const Options options_;
};

}  // namespace gandem
