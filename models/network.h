// SPDX-License-Identifier: Apache-2.0
//
// Interface of networks for training/. Images are NCHW float in [-1, 1].
//
// Owner: a worker. Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "common/philox.h"
#include "models/logits.h"

namespace gandem {

// State that a forward pass may read and change (design.md sections 3 and 4).
enum class ForwardMode {
  // Batch statistics, recorded; spectral norm iterates once.
  kTrain,
  // Batch statistics, not recorded; stored spectral-norm vectors. Changes no
  // state. For critics and FRESH images.
  kFrozen,
  // Running statistics; spectral norm iterates once on copies, because averaged
  // vectors are not unit vectors (models.md 6.2). Changes no state.
  kEvaluate,
};

// Inputs of a network besides noise or an image. A network ignores inputs that
// it was not made for (registry.h).
struct Condition {
  at::Tensor labels_N = {};     // int64, in [0, num_classes)
  at::Tensor images_NCHW = {};  // paired images: the input to translate
  // Identifies the images, for layers with random draws (dropout). Every
  // training pass has its own place.
  DrawPlace place = {};

  // Returns the condition with another place.
  Condition At(const DrawPlace& other) const {
    return {.labels_N = labels_N, .images_NCHW = images_NCHW, .place = other};
  }
};

// Name suffix of buffers that follow a mean over a step's images (StyleGAN2's
// mean style). In a fleet the mean is over all ranks' images.
inline constexpr absl::string_view kImageMeanSuffix = "w_avg";

class Generator : public torch::nn::Module {
 public:
  // Maps noise_NZ [N, noise_dim()] to images_NCHW, in (-1, 1) except for R3GAN.
  virtual at::Tensor forward(const at::Tensor& noise_NZ,
                             const Condition& condition, ForwardMode mode) = 0;
  virtual int64_t noise_dim() const = 0;

  // Makes evaluating passes move all styles towards their mean; smaller `psi`
  // moves further, 1 disables it. Returns false if the network has no styles.
  virtual bool TruncateStyles(double /*psi*/) { return false; }
  // Makes evaluating passes draw noise inputs as training passes do, or (false)
  // use constant noise. Returns false if the network has no noise inputs.
  virtual bool SetNoiseInputs(bool /*random*/) { return false; }
};

struct Verdict {
  Logits logits;
  // Unit length. Only with a class head (ContraGAN, ReACGAN).
  at::Tensor embeddings_NE = {};
  at::Tensor proxies_KE = {};  // one per class
};

class Discriminator : public torch::nn::Module {
 public:
  virtual Verdict forward(const at::Tensor& images_NCHW,
                          const Condition& condition, ForwardMode mode) = 0;
};

}  // namespace gandem
