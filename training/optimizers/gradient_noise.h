// SPDX-License-Identifier: Apache-2.0
//
// Measures, in selected steps, the squared gradient norms of parts of a batch
// and of the whole batch, from which common/results/noise_scale.h estimates the
// gradient noise scale. Never changes gradients.
//
//   noise.BeginStep(true);
//   for each micro-batch:
//     noise.BeforeBackward(GradientNoise::REAL);
//     ... backward pass, which adds to the gradients ...
//     noise.AfterBackward(images);
//   noise.BeforeSum(images of this rank);
//   ... gradients become their sums over the ranks ...
//   noise.AfterSum();
//
// The loss of a micro-batch is the sum over its images divided by the images of
// the step. Measured gradients are divided by this share, which makes them
// means over their own images.
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
  // `scaler` is null without loss scaling.
  GradientNoiseMeter(const torch::nn::Module* network,
                     const GradientScaler* scaler)
      : network_(network), scaler_(scaler) {}

  // Begins a step of `step_images` images over the whole fleet and discards the
  // previous one. Unless `is_measured`, the functions below do nothing.
  void BeginStep(bool is_measured, int64_t step_images);

  // Micro-batches of one part must be consecutive.
  void BeforeBackward(GradientNoise::Part part);
  void AfterBackward(int64_t images);

  // Must each be called once per step, with the step's images on this rank.
  void BeforeSum(int64_t images);
  void AfterSum();

  // Adds the measurements of the step, except parts with only one micro-batch
  // and gradients that are not finite.
  void AddTo(RoundMetrics& metrics) const;

 private:
  // Copies all gradients; undefined tensors for parameters without one.
  std::vector<at::Tensor> Copies() const;
  // Returns the squared norm of the gradients' change since `before`, scaled to
  // the mean over `images` images.
  double MeanSquareSince(const std::vector<at::Tensor>& before,
                         int64_t images) const;

  struct Found {
    GradientNoise::Part part = GradientNoise::UNKNOWN;
    int64_t pieces = 0;
    int64_t images = 0;
    double inverse_images = 0;  // sum over the pieces
    double squares = 0;         // sum of the pieces' squared norms
    double whole_square = 0;
  };

  const torch::nn::Module* network_;
  const GradientScaler* scaler_;

  bool is_measured_ = false;
  double step_images_ = 1;
  std::vector<Found> found_;
  std::vector<at::Tensor> part_start_;   // gradients before found_.back()
  std::vector<at::Tensor> piece_start_;  // gradients before its last piece
};

}  // namespace gandem
