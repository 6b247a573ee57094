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

#include "models/network.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class PenaltyConfig;  // proto/config.proto

struct PathLengthOptions {
  double weight = 0;  // 0: off
  int64_t every_steps = 4;
  int64_t batch_shrink = 2;
  bool separate = false;  // in a second update of the step

  // Is it measured in the generator's step `step`, counted from 0?
  bool Due(int64_t step) const { return weight > 0 && step % every_steps == 0; }
};

PathLengthOptions PathLengthFrom(const PenaltyConfig& config);

class PathLengthPenalty {
 public:
  // `share`: of a step's images that are this rank's, above 0. The mean is kept
  // where `where` is.
  PathLengthPenalty(const PathLengthOptions& options, double share,
                    at::Device where);

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

  const PathLengthOptions& options() const { return options_; }
  double share() const { return share_; }
  // The mean, as what follows means over images (kImageMeanSuffix).
  TensorsByName State() const;

 private:
  const PathLengthOptions options_;
  const double share_;
  const at::Tensor mean_;  // a
  at::Tensor sum_;         // of this step's lengths / step_images
  double excess_ = 0;      // of the mean given to MoveMean, over a
};

}  // namespace gandem
