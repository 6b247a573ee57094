// SPDX-License-Identifier: Apache-2.0
//
// Detects a role that does not train. Warns once per run epoch and condition,
// in the metrics of the round in which the condition is met:
//
//   parameters   some trained parameters are unchanged after 25 updates with a
//                learning rate above 0
//   updates      in the first 25 rounds, the learning rate was always 0 or all
//                updates were skipped
//   gradients    d(loss)/d(image) is 0 in 5 consecutive measured rounds, or its
//                norm exceeds 1e4 in two: changing an image by 1e-6 changes its
//                loss by 0.01
//   samples      in 5 consecutive measured rounds the images of the batch
//                differ by less than half a gray level of 256 (RMS)
//
// The checks do not affect the run. They read parameters twice per run epoch
// and images in every fifth round (ImageMeter).
//
// Owner: the role with rank 0. Thread safety: its compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proto/metrics.pb.h"
#include "training/state/device_sum.h"
#include "training/state/tensors_by_name.h"

namespace gandem {

class TrainingHealth {
 public:
  static constexpr int64_t kRounds = 25;        // rounds before a warning
  static constexpr int64_t kMeasuredEvery = 5;  // rounds, for ImageMeter

  explicit TrainingHealth(Role role) : role_(role) {}

  static bool MeasuresImages(int64_t round) {
    return round % kMeasuredEvery == kMeasuredEvery - 1;
  }

  bool has_begun() const { return first_round_ >= 0; }
  // Must be called before the first round of the run epoch. Reads the values of
  // `trained`, which share the network's memory.
  void Begin(int64_t first_round, TensorsByName trained);
  // Adds warnings to the otherwise complete metrics of the round.
  // `has_updated`: at least one update was not skipped.
  void EndRound(bool has_updated, RoundMetrics& metrics);

 private:
  // A condition that must hold in consecutive measured rounds.
  struct Sign {
    int64_t since_round = 0;  // completed rounds before it first held
    int64_t measured = 0;     // consecutive measured rounds in which it held
    bool is_told = false;
  };

  void Warn(const std::string& text, int64_t since_round,
            RoundMetrics& metrics) const;
  void JudgeUpdates(RoundMetrics& metrics);
  // Updates `sign`; returns true if its warning is due now.
  bool Lasts(bool is_there, int64_t enough, int64_t round, Sign& sign) const;
  std::vector<std::string> UnmovedNames() const;

  const Role role_;
  int64_t first_round_ = -1;  // of the run epoch
  int64_t rounds_ = 0;        // of the run epoch
  int64_t updated_rounds_ = 0;
  int64_t still_rounds_ = 0;  // rounds with a learning rate of 0
  TensorsByName trained_;
  std::vector<uint32_t> first_values_;  // checksums of the initial trained_
  Sign no_gradient_;
  Sign huge_gradient_;
  Sign equal_samples_;
};

// Measures how much a generator step's images differ, and the norm of their
// gradients, over micro-batches of one round. Sums stay on the GPU until
// Report.
class ImageMeter {
 public:
  void AddImages(const at::Tensor& images_NCHW);
  // `gradient_NCHW` is the gradient of the mean loss over `batch` images.
  void AddGradient(const at::Tensor& gradient_NCHW, int64_t batch);

  // Sets image_gradient_norm and, with at least two images, image_spread.
  void Report(RoundMetrics& metrics) const;

 private:
  at::Tensor first_CHW_;
  DeviceSum squares_;  // of differences from first_CHW_
  DeviceSum gradient_squares_;
  int64_t images_ = 0;
  int64_t batch_ = 0;
};

}  // namespace gandem
