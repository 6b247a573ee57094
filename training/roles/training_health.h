// SPDX-License-Identifier: Apache-2.0
//
// Signs of a training that does not train, of one role, told once in a run
// epoch with the record of the round at which they are sure:
//
//   parameters   of those that are trained, some have the bits that they began
//                with after 25 updates at a learning rate above 0
//   updates      25 rounds, and all at a learning rate of 0, or skipped
//   gradients    d(loss)/d(image) is 0 in 5 measured rounds in a row, or its
//                norm is above 1e4 in two: an image that moves by 1e-6 changes
//                its loss by 0.01
//   samples      in 5 measured rounds in a row the images of the batch differ
//                by less than half a gray level of 256 (RMS)
//
// Numbers only: nothing here changes what a run computes. The parameters are
// read twice in a run epoch, images in every fifth round (ImageMeter).
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
  static constexpr int64_t kRounds = 25;        // after which it is sure
  static constexpr int64_t kMeasuredEvery = 5;  // by ImageMeter

  explicit TrainingHealth(Role role) : role_(role) {}

  static bool MeasuresImages(int64_t round) {
    return round % kMeasuredEvery == kMeasuredEvery - 1;
  }

  bool has_begun() const { return first_round_ >= 0; }
  // Before the first round of the run epoch. `trained` share the network's
  // memory; their values are read.
  void Begin(int64_t first_round, TensorsByName trained);
  // Adds what is found to the round's metrics, which are complete otherwise.
  // `has_updated`: an update was not skipped.
  void EndRound(bool has_updated, RoundMetrics& metrics);

 private:
  // A sign that has to last.
  struct Sign {
    int64_t since_round = 0;  // completed rounds when it was not there yet
    int64_t measured = 0;     // times in a row
    bool is_told = false;
  };

  void Warn(const std::string& text, int64_t since_round,
            RoundMetrics& metrics) const;
  void JudgeUpdates(RoundMetrics& metrics);
  // Whether the sign is to be told now, if it is there.
  bool Lasts(bool is_there, int64_t enough, int64_t round, Sign& sign) const;
  std::vector<std::string> UnmovedNames() const;

  const Role role_;
  int64_t first_round_ = -1;  // of the run epoch
  int64_t rounds_ = 0;        // since then
  int64_t updated_rounds_ = 0;
  int64_t still_rounds_ = 0;  // at a learning rate of 0
  TensorsByName trained_;
  std::vector<uint32_t> first_values_;  // checksums, by place in trained_
  Sign no_gradient_;
  Sign huge_gradient_;
  Sign equal_samples_;
};

// How the images of a generator's step differ, and how long their gradients
// are, added up over its micro-batches. One a round. On a device the sums stay
// there until they are reported.
class ImageMeter {
 public:
  void AddImages(const at::Tensor& images_NCHW);
  // `gradient_NCHW` is that of the mean of the loss over `batch` images.
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
