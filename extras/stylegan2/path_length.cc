// SPDX-License-Identifier: Apache-2.0
#include "extras/stylegan2/path_length.h"

#include <cmath>
#include <string>
#include <utility>

#include "common/status.h"
#include "models/torch.h"
#include "training/state/device_sum.h"

namespace gandem {
namespace {

constexpr double kPathMeanDecay = 0.99;  // per step, as in StyleGAN2

absl::StatusOr<at::Tensor> LengthsOf(const PathPenalty::Step& step,
                                     IndexRange range) {
  GANDEM_ASSIGN_OR_RETURN(const PathInput input, step.input(range));
  const StyledImages made =
      dynamic_cast<HasStyles&>(step.network)
          .ForwardStyled(input.noise_NZ, input.condition, ForwardMode::kFrozen);
  return PathLengthPenalty::Lengths(
      made, input.direction_NV.view_as(made.images_NCHW));
}

}  // namespace

PathLengthPenalty::PathLengthPenalty(const PathLengthOptions& options,
                                     double share, at::Device where)
    : options_(options),
      share_(share),
      mean_(torch::zeros({}, torch::dtype(torch::kFloat64).device(where))),
      sum_(at::zeros_like(mean_)) {}

absl::Status PathLengthPenalty::Backward(const Step& step) {
  if (options_.separate) return SeparateBackward(step);
  for (const IndexRange& range : step.ranges) {
    GANDEM_ASSIGN_OR_RETURN(const at::Tensor lengths_N, LengthsOf(step, range));
    step.backward(Loss(lengths_N, step.images));
  }
  EndStep();
  return absl::OkStatus();
}

// The mean is updated with all lengths before the losses.
absl::Status PathLengthPenalty::SeparateBackward(const Step& step) {
  std::vector<at::Tensor> measured;
  for (const IndexRange& range : step.ranges) {
    GANDEM_ASSIGN_OR_RETURN(measured.emplace_back(), LengthsOf(step, range));
  }
  MoveMean(MeanLength(measured, step));
  if (measured.empty()) step.expect_last_backward();
  for (size_t i = 0; i < measured.size(); ++i) {
    const at::Tensor loss =
        Loss(std::exchange(measured[i], at::Tensor()), step.images);
    if (i + 1 == measured.size()) step.expect_last_backward();
    step.backward(loss);
  }
  return absl::OkStatus();
}

double PathLengthPenalty::MeanLength(const std::vector<at::Tensor>& own,
                                     const Step& step) const {
  DeviceSum sum;
  for (const at::Tensor& lengths_N : own) sum.Add(lengths_N.detach().sum());
  const auto images = static_cast<double>(step.images);
  if (step.fleet == nullptr) return sum.Value() / (images * share_);
  const at::Tensor sums_R1 =
      step.fleet->Gather(torch::tensor({sum.Value()}, at::kDouble));
  return sums_R1.sum().item<double>() / images;
}

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
  // Uses the mean over the layers, because one style affects all of them.
  return slope_NLS.square().sum(2).mean(1).sqrt();
}

void PathLengthPenalty::MoveMean(double mean_length) {
  const torch::NoGradGuard no_grad;
  excess_ = 0;
  // Ignores a step beyond the range of float16.
  if (!std::isfinite(mean_length)) return;
  mean_.mul_(kPathMeanDecay).add_((1 - kPathMeanDecay) * mean_length);
  excess_ = mean_length - mean_.item<double>();
}

at::Tensor PathLengthPenalty::Loss(const at::Tensor& lengths_N,
                                   int64_t step_images) {
  const auto images = static_cast<double>(step_images);
  const double weight =
      options_.weight * static_cast<double>(options_.every_steps);
  at::Tensor squares = (lengths_N - mean_).square().sum();
  if (options_.separate) {
    // The added value is 0, but its gradient is the one through a, which each
    // length moved by (1 - kPathMeanDecay) / step_images.
    squares = squares - 2 * (1 - kPathMeanDecay) * excess_ *
                            (lengths_N - lengths_N.detach()).sum();
  } else {
    sum_ += lengths_N.detach().to(sum_.scalar_type()).sum() / images;
  }
  return squares * (weight / images);
}

// The division by share_ makes up for the weights of the mean over ranks.
void PathLengthPenalty::EndStep() {
  const torch::NoGradGuard no_grad;
  // Ignores a step beyond the range of float16.
  if (std::isfinite(sum_.item<double>())) {
    mean_.mul_(kPathMeanDecay).add_(sum_, (1 - kPathMeanDecay) / share_);
  }
  sum_.zero_();
}

TensorsByName PathLengthPenalty::State() const {
  return {{std::string(kImageMeanSuffix), mean_}};
}

PathPenaltyMaker PathLengthMaker() {
  return [](const PathLengthOptions& options, double share,
            at::Device where) -> std::unique_ptr<PathPenalty> {
    return std::make_unique<PathLengthPenalty>(options, share, where);
  };
}

}  // namespace gandem
