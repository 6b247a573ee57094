// SPDX-License-Identifier: Apache-2.0
//
// StyleGAN2's path length regularization (Karras et al. 2020, "Analyzing and
// improving the image quality of StyleGAN", equation 4): (|J^T y| - a)^2, where
// J is the derivative of an image with respect to its style, y is noise of the
// image's shape, and a is the running mean of |J^T y|.
//
// Here a is the mean of the previous steps, so an image's term depends on no
// other image, and micro-batches and ranks add up to the sum of one pass. With
// `separate`, a first takes in the step's own lengths, and the gradient passes
// through a, as in the authors' program.
//
// Owner: the generator's role. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "training/objective/path_penalty.h"

namespace gandem {

struct StyledImages {
  at::Tensor images_NCHW;
  at::Tensor styles_NLS;  // one style per layer
};

// A generator whose images can be differentiated with respect to styles.
class HasStyles {
 public:
  virtual ~HasStyles() = default;
  virtual StyledImages ForwardStyled(const at::Tensor& noise_NZ,
                                     const Condition& condition,
                                     ForwardMode mode) = 0;
};

class PathLengthPenalty : public PathPenalty {
 public:
  PathLengthPenalty(const PathLengthOptions& options, double share,
                    at::Device where);

  absl::Status Backward(const Step& step) override;
  // The mean, named as a mean over images (kImageMeanSuffix).
  TensorsByName State() const override;

  // |J^T y| of each image, where y = `direction_NCHW` / sqrt(height * width).
  // Differentiable.
  static at::Tensor Lengths(const StyledImages& made,
                            const at::Tensor& direction_NCHW);

  // With `separate`, call it before the losses of a step with the mean length
  // over all ranks that train as one.
  void MoveMean(double mean_length);
  // This rank's part of the loss. `step_images` is the number of lengths in the
  // step over all ranks.
  at::Tensor Loss(const at::Tensor& lengths_N, int64_t step_images);
  // Without `separate`, takes the lengths since the last EndStep into the mean.
  void EndStep();

 private:
  absl::Status SeparateBackward(const Step& step);
  // The mean over all measured images.
  double MeanLength(const std::vector<at::Tensor>& own, const Step& step) const;

  const PathLengthOptions options_;
  const double share_;
  const at::Tensor mean_;  // a
  at::Tensor sum_;         // sum of this step's lengths / step_images
  double excess_ = 0;      // mean given to MoveMean, minus a
};

}  // namespace gandem
