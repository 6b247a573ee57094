// SPDX-License-Identifier: Apache-2.0
//
// StyleGAN2's path length regularization (Karras et al. 2020, "Analyzing and
// improving the image quality of StyleGAN", equation 4): (|J^T y| - a)^2, J the
// derivative of an image by its style, y noise in the image's place, a the mean
// of |J^T y| so far.
//
// Here a is that of the steps before, so that an image's term depends on no
// other image: micro-batches and ranks make the sum that one pass would. If it
// is `separate`, a takes in the step's own lengths first, as in the program of
// the authors, whose gradient passes through a, too.
//
// Owner: the generator's role. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "training/objective/path_penalty.h"

namespace gandem {

// Images and the styles that they are made of.
struct StyledImages {
  at::Tensor images_NCHW;
  at::Tensor styles_NLS;  // of each layer
};

// A generator whose images follow from styles, by which they can be
// differentiated.
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
  // The mean, as what follows means over images (kImageMeanSuffix).
  TensorsByName State() const override;

  // |J^T y| of each image, y = `direction_NCHW` / sqrt(height * width); can be
  // differentiated.
  static at::Tensor Lengths(const StyledImages& made,
                            const at::Tensor& direction_NCHW);

  // `separate`: before the losses of a step, whose lengths, of all ranks if
  // they train as one, have this mean.
  void MoveMean(double mean_length);
  // This rank's part of the loss of a step that measures `step_images` lengths
  // over all ranks.
  at::Tensor Loss(const at::Tensor& lengths_N, int64_t step_images);
  // Not `separate`: takes the lengths that Loss has seen since the last one
  // into the mean.
  void EndStep();

 private:
  absl::Status SeparateBackward(const Step& step);
  // The mean over all images that are measured.
  double MeanLength(const std::vector<at::Tensor>& own, const Step& step) const;

  const PathLengthOptions options_;
  const double share_;
  const at::Tensor mean_;  // a
  at::Tensor sum_;         // of this step's lengths / step_images
  double excess_ = 0;      // of the mean given to MoveMean, over a
};

}  // namespace gandem
