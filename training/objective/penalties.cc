// SPDX-License-Identifier: Apache-2.0
#include "training/objective/penalties.h"

#include "common/half_cosine.h"
#include "models/torch.h"
#include "proto/config.pb.h"
#include "training/objective/losses.h"

namespace gandem {
namespace {

enum Anchor { kReal, kGenerated };

}  // namespace

double PenaltyOptions::GradientFactor(int64_t step) const {
  if (step % gradient_every_steps != 0) return 0;
  const double decay =
      gradient_decay_steps == 0
          ? 1
          : HalfCosine(1, gradient_final_factor, static_cast<double>(step),
                       static_cast<double>(gradient_decay_steps));
  return static_cast<double>(gradient_every_steps) * decay;
}

PenaltyOptions PenaltiesFrom(const PenaltyConfig& config) {
  return {.gradient_penalty = config.gradient_penalty(),
          .dragan = config.dragan(),
          .r1 = config.r1(),
          .r2 = config.r2(),
          .gradient_every_steps = config.gradient_every_steps(),
          .gradient_decay_steps = config.gradient_decay_steps(),
          .gradient_final_factor = config.gradient_final_factor(),
          .separate = config.lazy_update() == PenaltyConfig::SEPARATE,
          .lecam = config.lecam(),
          .lecam_decay = config.lecam_decay(),
          .lecam_start_step = config.lecam_start_step(),
          .lecam_moves_first = config.lecam_moves_first(),
          .consistency_real = config.consistency_real(),
          .consistency_generated = config.consistency_generated()};
}

// Each logit depends only on its own image, so each row of the gradient of
// their sum is one image's gradient.
at::Tensor ImageGradient(const Logits& logits, const at::Tensor& images_NCHW) {
  return torch::autograd::grad({LogitSum(logits)}, {images_NCHW},
                               /*grad_outputs=*/{}, /*retain_graph=*/true,
                               /*create_graph=*/true)
      .front();
}

at::Tensor UnitNormPenalties(const at::Tensor& gradient_NCHW) {
  return (gradient_NCHW.flatten(1).norm(2, 1) - 1).square();
}

at::Tensor SquaredNormPenalties(const at::Tensor& gradient_NCHW) {
  return 0.5 * gradient_NCHW.flatten(1).square().sum(1);
}

at::Tensor Interpolate(const at::Tensor& real_NCHW,
                       const at::Tensor& generated_NCHW,
                       const at::Tensor& draws_N1) {
  const torch::NoGradGuard no_grad;
  const at::Tensor alpha = draws_N1.to(real_NCHW.options()).view({-1, 1, 1, 1});
  return alpha * real_NCHW + (1 - alpha) * generated_NCHW;
}

at::Tensor Perturb(const at::Tensor& real_NCHW, double deviation,
                   const at::Tensor& draws) {
  const torch::NoGradGuard no_grad;
  const at::Tensor uniform = draws.to(real_NCHW.options());
  const at::Tensor alpha = uniform.select(1, 0).view({-1, 1, 1, 1});
  const at::Tensor noise =
      uniform.narrow(1, 1, uniform.size(1) - 1).reshape(real_NCHW.sizes());
  return real_NCHW + alpha * (0.5 * deviation) * noise;
}

at::Tensor ConsistencyPenalties(const Verdict& image, const Verdict& copy) {
  at::Tensor penalties = image.logits.MeanOf(
      copy.logits, [](const at::Tensor& of_image, const at::Tensor& of_copy) {
        return PerImage((of_image - of_copy).square());
      });
  if (image.embeddings_NE.defined()) {
    penalties =
        penalties + (image.embeddings_NE - copy.embeddings_NE).square().mean(1);
  }
  return penalties;
}

LecamAnchors::LecamAnchors(const PenaltyOptions& options)
    : options_(options), anchors_(torch::zeros({2}, torch::kFloat64)) {}

bool LecamAnchors::Active(int64_t step) const {
  return options_.lecam > 0 && step > options_.lecam_start_step;
}

at::Tensor LecamAnchors::RealPenalties(const Logits& logits) const {
  const double anchor = anchors_[kGenerated].item<double>();
  return logits.MeanOf([&](const at::Tensor& output) {
    return PerImage(at::relu(output - anchor).square());
  });
}

at::Tensor LecamAnchors::GeneratedPenalties(const Logits& logits) const {
  const double anchor = anchors_[kReal].item<double>();
  return logits.MeanOf([&](const at::Tensor& output) {
    return PerImage(at::relu(anchor - output).square());
  });
}

void LecamAnchors::Update(int64_t step, double real_logit,
                          double generated_logit) {
  const double decay =
      step < options_.lecam_start_step ? 0 : options_.lecam_decay;
  double* anchors = anchors_.mutable_data_ptr<double>();
  anchors[kReal] = decay * anchors[kReal] + (1 - decay) * real_logit;
  anchors[kGenerated] =
      decay * anchors[kGenerated] + (1 - decay) * generated_logit;
}

TensorsByName LecamAnchors::State() const {
  if (options_.lecam == 0) return {};
  return {{"lecam_anchors", anchors_}};
}

}  // namespace gandem
