// SPDX-License-Identifier: Apache-2.0
#include "training/roles/image_meter.h"

#include <cmath>

#include "models/torch.h"

namespace gandem {

void ImageMeter::AddImages(const at::Tensor& images_NCHW) {
  const torch::NoGradGuard no_grad;
  // A copy: the graph of the images is freed before the step ends.
  if (!first_CHW_.defined()) first_CHW_ = images_NCHW[0].clone();
  squares_.Add((images_NCHW - first_CHW_).square().sum());
  images_ += images_NCHW.size(0);
}

void ImageMeter::AddGradient(const at::Tensor& gradient_NCHW, int64_t batch) {
  gradient_squares_.Add(gradient_NCHW.square().sum());
  batch_ = batch;
}

void ImageMeter::Report(RoundMetrics& metrics) const {
  const auto images = static_cast<double>(images_);
  metrics.set_image_gradient_norm(
      static_cast<double>(batch_) *
      std::sqrt(gradient_squares_.Value() / images));
  if (images_ < 2) return;
  metrics.set_image_spread(
      std::sqrt(squares_.Value() / ((images - 1) * first_CHW_.numel())));
}

}  // namespace gandem
