// SPDX-License-Identifier: Apache-2.0
//
// Detects that a role does not train. Each warning is given once in a run
// epoch, in the metrics of the round in which its condition is met:
//
//   parameters   some trained parameters are unchanged after 25 updates at a
//                learning rate above 0
//   updates      in the first 25 rounds, the learning rate was always 0, or all
//                updates were skipped
//   gradients    d(loss)/d(image) is 0 in 5 successive measured rounds, or its
//                norm is above 1e4 in two: changing an image by 1e-6 changes
//                its loss by 0.01
//   samples      in 5 successive measured rounds the images of the batch differ
//                by less than half a gray level of 256 (RMS)
//
// The checks do not change the run. Parameters are read twice in a run epoch,
// images in every fifth round (ImageMeter).
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
  // Call before the first round of the run epoch. `trained` share the network's
  // memory; Begin reads their values.
  void Begin(int64_t first_round, TensorsByName trained);
  // Adds warnings to the round's metrics, which are otherwise complete.
  // `has_updated`: at least one update was not skipped.
  void EndRound(bool has_updated, RoundMetrics& metrics);

 private:
  // A condition that must hold in successive measured rounds.
  struct Sign {
    int64_t since_round = 0;  // completed rounds before it first held
    int64_t measured = 0;     // successive measured rounds in which it held
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
  int64_t rounds_ = 0;        // rounds of the run epoch so far
  int64_t updated_rounds_ = 0;
  int64_t still_rounds_ = 0;  // at a learning rate of 0
  TensorsByName trained_;
  std::vector<uint32_t> first_values_;  // initial checksums of trained_
  Sign no_gradient_;
  Sign huge_gradient_;
  Sign equal_samples_;
};

// Measures how much the images of a generator's step differ, and the norm of
// their gradients, over its micro-batches. Use one per round. On a GPU the sums
// stay there until Report.
class ImageMeter {
 public:
  void AddImages(const at::Tensor& images_NCHW);
  // `gradient_NCHW`: gradient of the mean loss over `batch` images.
  void AddGradient(const at::Tensor& gradient_NCHW, int64_t batch);

  // Sets image_gradient_norm, and image_spread if there were two images.
  void Report(RoundMetrics& metrics) const;

 private:
  at::Tensor first_CHW_;
  DeviceSum squares_;  // of differences from first_CHW_
  DeviceSum gradient_squares_;
  int64_t images_ = 0;
  int64_t batch_ = 0;
};

}  // namespace gandem
