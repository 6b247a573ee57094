// SPDX-License-Identifier: Apache-2.0
//
// Measures how far gradients of parts of a batch are from that of the whole, in
// steps in which that is asked for: what a gradient noise scale is estimated
// from (common/results/noise_scale.h). It reads gradients and
// changes none.
//
//   noise.BeginStep(true);
//   for each micro-batch:
//     noise.BeforeBackward(GradientNoise::REAL);
//     ... its backward pass, which adds to the gradients ...
//     noise.AfterBackward(images);
//   noise.BeforeSum(images of this rank);
//   ... gradients become their sums over the ranks ...
//   noise.AfterSum();
//
// A gradient is that of a share of the step's loss, sum over images / images of
// the step: what is compared are means, so it is divided by its share.
//
// Owner: the role. `network` and `scaler` outlive it.
// Thread safety: one compute thread. Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

#include "proto/metrics.pb.h"
#include "training/optimizers/gradient_scaler.h"

namespace gandem {

class GradientNoiseMeter {
 public:
  // `scaler`: null where losses have no scale.
  GradientNoiseMeter(const torch::nn::Module* network,
                     const GradientScaler* scaler)
      : network_(network), scaler_(scaler) {}

  // `step_images`: of the step, over the whole fleet. Not measured: all below
  // do nothing. Forgets the step before.
  void BeginStep(bool is_measured, int64_t step_images);

  // Micro-batches of one part follow each other.
  void BeforeBackward(GradientNoise::Part part);
  void AfterBackward(int64_t images);

  // Once a step each; `images` of the step are this rank's.
  void BeforeSum(int64_t images);
  void AfterSum();

  // Of the step: parts of one micro-batch only, and gradients that are not
  // finite, are left out.
  void AddTo(RoundMetrics& metrics) const;

 private:
  // Empty: none has any yet.
  std::vector<at::Tensor> Copies() const;
  // Squared norm of what was added to the gradients since `before`, as the mean
  // over so many images.
  double MeanSquareSince(const std::vector<at::Tensor>& before,
                         int64_t images) const;

  struct Found {
    GradientNoise::Part part = GradientNoise::UNKNOWN;
    int64_t pieces = 0;
    int64_t images = 0;
    double inverse_images = 0;  // sum over the pieces
    double squares = 0;         // the same
    double whole_square = 0;
  };

  const torch::nn::Module* network_;
  const GradientScaler* scaler_;

  bool is_measured_ = false;
  double step_images_ = 1;
  std::vector<Found> found_;
  std::vector<at::Tensor> part_start_;   // gradients where found_.back() began
  std::vector<at::Tensor> piece_start_;  // where its last piece did
};

}  // namespace gandem
