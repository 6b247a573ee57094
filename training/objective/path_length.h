// SPDX-License-Identifier: Apache-2.0
//
// StyleGAN2's path length regularization (Karras et al. 2020, "Analyzing and
// improving the image quality of StyleGAN", equation 4): (|J^T y| - a)^2, J the
// derivative of an image by its style, y noise in the image's place, a the mean
// of |J^T y| so far.
//
// Here a is that of the steps before, so that an image's term depends on no
// other image: micro-batches and ranks make the sum that one pass would.
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

  // This rank's part of the loss of a step that measures `step_images` lengths
  // over all ranks.
  at::Tensor Loss(const at::Tensor& lengths_N, int64_t step_images);
  // Takes the lengths that Loss has seen since the last one into the mean.
  void EndStep();

  const PathLengthOptions& options() const { return options_; }
  // The mean, as what follows means over images (kImageMeanSuffix).
  TensorsByName State() const;

 private:
  const PathLengthOptions options_;
  const double share_;
  const at::Tensor mean_;  // a
  at::Tensor sum_;         // of this step's lengths / step_images
};

}  // namespace gandem
