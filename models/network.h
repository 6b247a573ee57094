// SPDX-License-Identifier: Apache-2.0
//
// The interface of networks for training/. Images are NCHW float in [-1, 1].
//
// Owner: a worker. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/philox.h"
#include "models/logits.h"

namespace gandem {

// The state that a forward pass may read and change (design.md sections 3 and
// 4).
enum class ForwardMode {
  // Batch statistics, recorded; spectral norm iterates once.
  kTrain,
  // Batch statistics, not recorded; stored spectral-norm vectors. Changes no
  // state: critics, and FRESH images.
  kFrozen,
  // Running statistics; spectral norm iterates once on copies, because averaged
  // vectors are not unit vectors (models.md 6.2). Changes no state.
  kEvaluate,
};

// Inputs of a network besides noise or an image. A network uses the inputs that
// it was made for (registry.h) and ignores the rest.
struct Condition {
  at::Tensor labels_N = {};     // int64, in [0, num_classes)
  at::Tensor images_NCHW = {};  // paired images: the input that is translated
  // Identifies the images of the rows, for layers that draw (dropout). Every
  // training pass has its own place.
  DrawPlace place = {};

  // The same condition at another place.
  Condition At(const DrawPlace& other) const {
    return {.labels_N = labels_N, .images_NCHW = images_NCHW, .place = other};
  }
};

// Suffix of the names of buffers that follow a mean over the images of a step
// (StyleGAN2's mean style). In a fleet, the mean is over the images of all
// ranks.
inline constexpr absl::string_view kImageMeanSuffix = "w_avg";

class Generator : public torch::nn::Module {
 public:
  // noise_NZ: [N, noise_dim()]. Returns images_NCHW, in (-1, 1) except for
  // R3GAN.
  virtual at::Tensor forward(const at::Tensor& noise_NZ,
                             const Condition& condition, ForwardMode mode) = 0;
  virtual int64_t noise_dim() const = 0;

  // Makes evaluating passes move all styles towards their mean. A smaller `psi`
  // moves them further; 1 does not move them. Returns false if the network has
  // no styles.
  virtual bool TruncateStyles(double /*psi*/) { return false; }
  // Makes evaluating passes draw the noise of noise inputs as training passes
  // do, or (false) take constant noise. Returns false if the network has no
  // noise inputs.
  virtual bool SetNoiseInputs(bool /*random*/) { return false; }
};

// The outputs of a discriminator for a batch.
struct Verdict {
  Logits logits;
  // Unit length. Only networks with a class head have them (ContraGAN,
  // ReACGAN).
  at::Tensor embeddings_NE = {};
  at::Tensor proxies_KE = {};  // one for each class
};

class Discriminator : public torch::nn::Module {
 public:
  virtual Verdict forward(const at::Tensor& images_NCHW,
                          const Condition& condition, ForwardMode mode) = 0;
};

}  // namespace gandem
