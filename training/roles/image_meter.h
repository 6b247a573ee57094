// SPDX-License-Identifier: Apache-2.0
//
// How the images of a generator's step differ, and how long their gradients
// are, added up over its micro-batches. On a device the sums stay there until
// they are reported.
//
// Owner: the generator's role, one a round. Thread safety: its compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "proto/metrics.pb.h"
#include "training/state/device_sum.h"

namespace gandem {

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
