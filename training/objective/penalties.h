// SPDX-License-Identifier: Apache-2.0
//
// What a discriminator's loss gets beside the adversarial loss (models.md 4.3,
// docs/reference/losses.md). These are the formulas, a value per image;
// discriminator_objective.h applies them.
//
// Thread safety: pure functions, but for LecamAnchors (one compute thread).
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
  // Of the four above.
  int64_t gradient_every_steps = 1;
  int64_t gradient_decay_steps = 0;
  double gradient_final_factor = 1;
  bool separate = false;  // r1 alone, in a second update of the step
  double lecam = 0;
  double lecam_decay = 0.99;
  int64_t lecam_start_step = 1000;
  bool lecam_moves_first = false;
  double consistency_real = 0;
  double consistency_generated = 0;

  // Of `step`, counted from 0. Lazy regularization (Karras et al. 2020): 0 in
  // the steps between, and that much more in the others. Times what the decay
  // (Huang et al. 2024) leaves of it.
  double GradientFactor(int64_t step) const;
};

PenaltyOptions PenaltiesFrom(const PenaltyConfig& config);

// d(logit of an image)/d(that image), itself differentiable. `images_NCHW`
// want a gradient and `logits` depend on them, each on its own image only.
at::Tensor ImageGradient(const Logits& logits, const at::Tensor& images_NCHW);

// (|gradient of an image| - 1)^2: Gulrajani et al. 2017, equation 3. The
// derivative of the norm at 0 is taken as 0 (traps.md 8).
at::Tensor UnitNormPenalties(const at::Tensor& gradient_NCHW);
// |gradient of an image|^2 / 2: Mescheder et al. 2018, equation 9.
at::Tensor SquaredNormPenalties(const at::Tensor& gradient_NCHW);

// Points between real and generated images: a * real + (1 - a) * generated, a
// the draw of each image.
at::Tensor Interpolate(const at::Tensor& real_NCHW,
                       const at::Tensor& generated_NCHW,
                       const at::Tensor& draws_N1);
// Points near real images (Kodali et al. 2017, as in StudioGAN): real + a * 0.5
// * deviation * u. The first draw of an image is a, the others are u, one for
// each of its values.
at::Tensor Perturb(const at::Tensor& real_NCHW, double deviation,
                   const at::Tensor& draws);

// |difference of what is said of an image and of its copy|^2, averaged over
// its logits, plus the same of embeddings if there are some (Zhang et al.
// 2020).
at::Tensor ConsistencyPenalties(const Verdict& image, const Verdict& copy);

// LeCam (Tseng et al. 2021, equation 4): relu(r - anchor of g)^2 +
// relu(anchor of r - g)^2. Anchors are averages of mean logits over the steps
// before this one, so that each part has its own pass, or with
// lecam_moves_first over this step, too; until the start step they are those of
// the last step.
class LecamAnchors {
 public:
  explicit LecamAnchors(const PenaltyOptions& options);

  bool Active(int64_t step) const;
  at::Tensor RealPenalties(const Logits& logits) const;
  at::Tensor GeneratedPenalties(const Logits& logits) const;
  // The mean logits of step `step`.
  void Update(int64_t step, double real_logit, double generated_logit);
  TensorsByName State() const;

 private:
  const PenaltyOptions options_;
  at::Tensor anchors_;  // float64: real, generated
};

}  // namespace gandem
