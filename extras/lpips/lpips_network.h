// SPDX-License-Identifier: Apache-2.0
//
// LPIPS measures how different two images look (Zhang et al. 2018, "The
// unreasonable effectiveness of deep features as a perceptual metric", equation
// 1), with the weights of its authors' `lpips` package. Activations of five
// layers of an AlexNet or a VGG16 are normalized at each pixel. Their squared
// differences are weighted by channel, averaged over the pixels and summed over
// the layers.
//
// Owner: values; the weights never change. Thread safety: const members may run
// concurrently. Errors: Status; Distances() may throw Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

class LpipsNetwork {
 public:
  // Whether the tensors contain LPIPS's linear layers.
  static bool Holds(const std::vector<NamedTensor>& tensors);

  // Loads the state dict of lpips.LPIPS(net="alex") or "vgg".
  //   INVALID_ARGUMENT  lists the tensors that are missing or misshapen.
  static absl::StatusOr<LpipsNetwork> Load(std::vector<NamedTensor> tensors,
                                           at::Device device = at::kCPU);

  // "alex" or "vgg"
  const std::string& trunk() const { return trunk_; }
  // Minimum height and width of an image, in pixels.
  int64_t least_pixels() const { return least_pixels_; }

  // Returns float32 [N]. The images are on the weights' device: float32
  // [N, 3, height, width] in [-1, 1].
  at::Tensor Distances(const at::Tensor& a_NCHW,
                       const at::Tensor& b_NCHW) const;

 private:
  struct Layer {
    at::Tensor weight;
    at::Tensor bias;
    int64_t stride = 1;
    int64_t padding = 1;
    bool pools = false;     // pooling precedes the convolution
    bool compared = false;  // the rectified output is compared
  };

  LpipsNetwork() = default;
  // Normalized activations of the compared layers.
  std::vector<at::Tensor> Activations(const at::Tensor& images_NCHW) const;

  std::string trunk_;
  int64_t pool_ = 2;  // side of a pooling window; the stride is 2
  int64_t least_pixels_ = 1;
  at::Tensor shift_;
  at::Tensor scale_;
  std::vector<Layer> layers_;
  std::vector<at::Tensor> linears_;  // one per compared layer
};

}  // namespace gandem
