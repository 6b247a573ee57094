// SPDX-License-Identifier: Apache-2.0
//
// The vision transformer (Dosovitskiy et al. 2021, "An image is worth 16x16
// words", equations 1 to 4) in two forms:
//
//   CLIP    (Radford et al. 2021): a norm before the first block, GELU as
//           x sigmoid(1.702 x), the class's output through norm and projection;
//           norms with eps 1e-5. OpenAI's weights need this GELU; weights
//           trained with the exact GELU have the same names, but do not fit.
//   DINOv2  (Oquab et al. 2023): each branch times a learned scale (LayerScale,
//           Touvron et al. 2021), the exact GELU, the class's output after the
//           norm; norms with eps 1e-6. Positions are resized to the patches of
//           224 pixels like in Meta's code: bicubic, without smoothing, at the
//           scale (patches + 0.1) / grid.
//
// Owner: the extractor. Thread safety: one compute thread.
// Errors: Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "extras/vit_features/vit_weights.h"

namespace gandem {

class VisionTransformer {
 public:
  // `weights` come from LoadVitWeights.
  explicit VisionTransformer(VitWeights weights);

  // Height and width of the input: by the positions for CLIP, 224 for DINOv2. 0
  // if that is not a whole number of patches.
  static int64_t InputSize(const VitWeights& weights);

  int64_t input_size() const { return InputSize(weights_); }
  int64_t feature_dim() const;

  // images_NCHW: float32 [N, 3, input_size, input_size], normalized for the
  // network. Returns float32 [N, feature_dim].
  at::Tensor Forward(const at::Tensor& images_NCHW) const;

 private:
  at::Tensor Apply(const VitBlock& block, const at::Tensor& x_NTW) const;
  at::Tensor Attend(const VitBlock& block, const at::Tensor& x_NTW) const;
  at::Tensor Norm(const at::Tensor& x, const at::Tensor& weight,
                  const at::Tensor& bias) const;

  VitWeights weights_;
  at::Tensor positions_TW_;  // resized to the input's patches
};

}  // namespace gandem
