// SPDX-License-Identifier: Apache-2.0
//
// Layers with a weight: fully connected, embedding, convolution, transposed
// convolution.
// With spectral norm they compute with weight / sigma; the parameter is always
// the raw weight. Tensors and names are those of torch.nn, plus spectral norm's
// buffers.
//
//   Conv2d({.in_channels = 3, .out_channels = 64, .kernel = 4, .stride = 2,
//           .padding = 1, .bias = false});
//
// Owner: a network. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <optional>

#include "models/layers/layer.h"
#include "models/layers/spectral_norm.h"

namespace gandem {

class WeightedLayer : public Layer {
 public:
  // SpectralNorm::Iterate, if there is one.
  void IterateSpectralNorm(int times);

 protected:
  WeightedLayer(at::IntArrayRef weight_shape, int64_t row_dim, bool bias,
                bool spectral_norm, double spectral_norm_eps);

  // The weight that the forward pass multiplies by.
  at::Tensor EffectiveWeight(ForwardMode mode);
  const at::Tensor& bias() const { return bias_; }  // undefined: none

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  std::optional<SpectralNorm> spectral_norm_;
};

class Linear : public WeightedLayer {
 public:
  struct Options {
    int64_t in_features = 0;   // required, >= 1
    int64_t out_features = 0;  // required, >= 1
    bool bias = true;
    bool spectral_norm = false;
    double spectral_norm_eps = 1e-12;
    double init_gain = 1;
  };
  explicit Linear(const Options& options);
  // NI -> NO
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  double init_gain() const override { return init_gain_; }

 private:
  const double init_gain_;
};

// A row of the weight [classes, dim] for each label.
class Embedding : public WeightedLayer {
 public:
  struct Options {
    int64_t num_classes = 0;  // required, >= 1
    int64_t dim = 0;          // required, >= 1
    bool spectral_norm = false;
    double spectral_norm_eps = 1e-12;
    bool starts_at_zero = false;  // whatever the network's initialization
  };
  explicit Embedding(const Options& options);
  // int64 N -> ND
  at::Tensor forward(const at::Tensor& labels_N, ForwardMode mode) override;
  // All rows: [classes, dim]. In place of forward: each counts as a pass.
  at::Tensor Table(ForwardMode mode) { return EffectiveWeight(mode); }
  bool starts_at_zero() const { return options_.starts_at_zero; }

 private:
  const Options options_;
};

struct ConvOptions {
  int64_t in_channels = 0;   // required, >= 1
  int64_t out_channels = 0;  // required, >= 1
  int64_t kernel = 0;        // required, >= 1; height and width
  int64_t stride = 1;
  int64_t padding = 0;
  // Transposed: rows and columns that are added at the end.
  int64_t output_padding = 0;
  // Conv2d only: output channels see input channels of their own group.
  int64_t groups = 1;
  bool bias = true;
  bool spectral_norm = false;
  double spectral_norm_eps = 1e-12;
  double init_gain = 1;
};

class Conv2d : public WeightedLayer {
 public:
  explicit Conv2d(const ConvOptions& options);
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  double init_gain() const override { return options_.init_gain; }

 private:
  const ConvOptions options_;
};

class ConvTranspose2d : public WeightedLayer {
 public:
  explicit ConvTranspose2d(const ConvOptions& options);
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  double init_gain() const override { return options_.init_gain; }

 private:
  const ConvOptions options_;
};

}  // namespace gandem
