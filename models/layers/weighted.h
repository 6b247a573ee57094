// SPDX-License-Identifier: Apache-2.0
//
// Layers with a weight: fully connected, embedding, convolution, transposed
// convolution. With spectral norm they compute with weight / sigma; the
// parameter is always the raw weight. Tensors are named as in torch.nn, plus
// the buffers of spectral norm.
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
  // Calls SpectralNorm::Iterate, if there is spectral norm.
  void IterateSpectralNorm(int times);

 protected:
  WeightedLayer(at::IntArrayRef weight_shape, int64_t row_dim, bool bias,
                bool spectral_norm, double spectral_norm_eps);

  // Returns the weight used in the forward pass.
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
  // Maps [N, in_features] to [N, out_features].
  at::Tensor forward(const at::Tensor& input, ForwardMode mode) override;
  double init_gain() const override { return init_gain_; }

 private:
  const double init_gain_;
};

// Maps labels to rows of the weight [classes, dim].
class Embedding : public WeightedLayer {
 public:
  struct Options {
    int64_t num_classes = 0;  // required, >= 1
    int64_t dim = 0;          // required, >= 1
    bool spectral_norm = false;
    double spectral_norm_eps = 1e-12;
    bool starts_at_zero = false;  // regardless of the network's initialization
  };
  explicit Embedding(const Options& options);
  at::Tensor forward(const at::Tensor& labels_N, ForwardMode mode) override;
  // Returns all rows, [classes, dim]. Counts as a forward pass.
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
  // Transposed only: rows and columns added at the end.
  int64_t output_padding = 0;
  // Conv2d only: output channels depend on input channels of the same group.
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
