// SPDX-License-Identifier: Apache-2.0
//
// Penalties of the discriminator's loss (models.md 4.3,
// docs/reference/losses.md), per image; see discriminator_objective.h.
//
// Thread safety: pure functions; LecamAnchors: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "models/network.h"
#include "training/objective/diff_augment.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class PenaltyConfig;  // proto/config.proto

// Weights; 0: off.
struct PenaltyOptions {
  double gradient_penalty = 0;
  double dragan = 0;
  double r1 = 0;
  double r2 = 0;
  // Schedule of the four penalties above.
  int64_t gradient_every_steps = 1;
  int64_t gradient_decay_steps = 0;
  double gradient_final_factor = 1;
  bool separate = false;  // r1 uses a second update in its steps
  double lecam = 0;
  double lecam_decay = 0.99;
  int64_t lecam_start_step = 1000;
  bool lecam_moves_first = false;
  double consistency_real = 0;
  double consistency_generated = 0;

  // Factor of gradient penalties in `step`, counted from 0: lazy regularization
  // (Karras et al. 2020), which applies penalties every gradient_every_steps
  // steps with that factor, and the decay of Huang et al. 2024.
  double GradientFactor(int64_t step) const;
};

PenaltyOptions PenaltiesFrom(const PenaltyConfig& config);

// Computes d(logit of an image)/d(that image), differentiable. `images_NCHW`
// must require a gradient. Each logit must depend only on its own image.
at::Tensor ImageGradient(const Logits& logits, const at::Tensor& images_NCHW);

// Computes (|gradient of an image| - 1)^2 (Gulrajani et al. 2017, equation 3).
// The derivative of the norm at 0 is 0 (traps.md 8).
at::Tensor UnitNormPenalties(const at::Tensor& gradient_NCHW);
// Computes |gradient of an image|^2 / 2 (Mescheder et al. 2018, equation 9).
at::Tensor SquaredNormPenalties(const at::Tensor& gradient_NCHW);

// Returns points between real and generated images: a * real + (1 - a) *
// generated, where a is the image's draw.
at::Tensor Interpolate(const at::Tensor& real_NCHW,
                       const at::Tensor& generated_NCHW,
                       const at::Tensor& draws_N1);
// Returns points near real images (Kodali et al. 2017, as in StudioGAN): real +
// a * 0.5 * deviation * u. An image's draws are a, then u for each value.
at::Tensor Perturb(const at::Tensor& real_NCHW, double deviation,
                   const at::Tensor& draws);

// Returns mean squared differences between the logits of an image and its copy,
// plus those of embeddings, if any (Zhang et al. 2020).
at::Tensor ConsistencyPenalties(const Verdict& image, const Verdict& copy);

// LeCam regularization (Tseng et al. 2021, equation 4): relu(r - anchor of g)^2
// + relu(anchor of r - g)^2. Anchors are moving averages of mean logits over
// previous steps, so that each part has its own pass; with lecam_moves_first
// they include the current step. Until the start step, anchors are the mean
// logits of the last step.
class LecamAnchors {
 public:
  explicit LecamAnchors(const PenaltyOptions& options);

  bool Active(int64_t step) const;
  at::Tensor RealPenalties(const Logits& logits) const;
  at::Tensor GeneratedPenalties(const Logits& logits) const;
  // Adds the mean logits of step `step` to the anchors.
  void Update(int64_t step, double real_logit, double generated_logit);
  TensorsByName State() const;

 private:
  const PenaltyOptions options_;
  at::Tensor anchors_;  // float64: real, generated
};

}  // namespace gandem
