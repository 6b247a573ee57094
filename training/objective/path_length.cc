// SPDX-License-Identifier: Apache-2.0
#include "training/objective/path_length.h"

#include <cmath>
#include <string>

#include "models/torch.h"
#include "proto/config.pb.h"

namespace gandem {
namespace {

constexpr double kMeanDecay = 0.99;  // of a step, as in StyleGAN2

}  // namespace

PathLengthOptions PathLengthFrom(const PenaltyConfig& config) {
  return {.weight = config.path_length(),
          .every_steps = config.path_length_every_steps(),
          .batch_shrink = config.path_length_batch_shrink(),
          .separate = config.lazy_update() == PenaltyConfig::SEPARATE};
}

PathLengthPenalty::PathLengthPenalty(const PathLengthOptions& options,
                                     double share, at::Device where)
    : options_(options),
      share_(share),
      mean_(torch::zeros({}, torch::dtype(torch::kFloat64).device(where))),
      sum_(at::zeros_like(mean_)) {}

at::Tensor PathLengthPenalty::Lengths(const StyledImages& made,
                                      const at::Tensor& direction_NCHW) {
  const at::Tensor& images = made.images_NCHW;
  const double pixels =
      static_cast<double>(images.size(2)) * static_cast<double>(images.size(3));
  const at::Tensor moved = (images * direction_NCHW).sum() / std::sqrt(pixels);
  const at::Tensor slope_NLS =
      torch::autograd::grad({moved}, {made.styles_NLS}, /*grad_outputs=*/{},
                            /*retain_graph=*/true, /*create_graph=*/true)
          .front();
  // The mean over the layers: one style moves all of them.
  return slope_NLS.square().sum(2).mean(1).sqrt();
}

void PathLengthPenalty::MoveMean(double mean_length) {
  const torch::NoGradGuard no_grad;
  excess_ = 0;
  // A step beyond the range of float16 is skipped.
  if (!std::isfinite(mean_length)) return;
  mean_.mul_(kMeanDecay).add_((1 - kMeanDecay) * mean_length);
  excess_ = mean_length - mean_.item<double>();
}

at::Tensor PathLengthPenalty::Loss(const at::Tensor& lengths_N,
                                   int64_t step_images) {
  const auto images = static_cast<double>(step_images);
  const double weight =
      options_.weight * static_cast<double>(options_.every_steps);
  at::Tensor squares = (lengths_N - mean_).square().sum();
  if (options_.separate) {
    // A zero with the gradient that passes through a: each length has moved it
    // by (1 - kMeanDecay) / step_images.
    squares = squares - 2 * (1 - kMeanDecay) * excess_ *
                            (lengths_N - lengths_N.detach()).sum();
  } else {
    sum_ += lengths_N.detach().to(sum_.scalar_type()).sum() / images;
  }
  return squares * (weight / images);
}

// Ranks' means are weighted by their shares when they become one.
void PathLengthPenalty::EndStep() {
  const torch::NoGradGuard no_grad;
  // A step beyond the range of float16 is skipped.
  if (std::isfinite(sum_.item<double>())) {
    mean_.mul_(kMeanDecay).add_(sum_, (1 - kMeanDecay) / share_);
  }
  sum_.zero_();
}

TensorsByName PathLengthPenalty::State() const {
  return {{std::string(kImageMeanSuffix), mean_}};
}

}  // namespace gandem
