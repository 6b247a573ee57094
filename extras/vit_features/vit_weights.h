// SPDX-License-Identifier: Apache-2.0
//
// Weights of vision transformers: CLIP's image half and DINOv2. The tensors
// determine the sizes, so ViT-S, B and L with any number of patches and
// positions are supported.
//
// Tensors have the names of the models' own state dicts (OpenAI's and
// open_clip's "visual.conv1.weight", Meta's "patch_embed.proj.weight") or of
// the Hugging Face packages ("vision_model.embeddings.patch_embedding.weight",
// "embeddings.patch_embeddings.projection.weight"). Values of half, bfloat16 or
// double precision are converted to single precision.
//
// Owner: the extractor. Thread safety: one compute thread.
// Errors: Status; Torch exceptions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checkpoint/safetensors.h"

namespace gandem {

enum class VitFamily { kClip, kDinov2 };

// Width of an attention head in all published networks.
inline constexpr int64_t kVitHeadWidth = 64;

// Tensors of one block. W is the width, H the hidden width.
struct VitBlock {
  at::Tensor norm1_weight, norm1_bias;    // [W]
  at::Tensor qkv_weight, qkv_bias;        // [3 W, W]: queries, keys, values
  at::Tensor out_weight, out_bias;        // [W, W]
  at::Tensor scale1;                      // [W], DINOv2 only
  at::Tensor norm2_weight, norm2_bias;    // [W]
  at::Tensor expand_weight, expand_bias;  // [H, W]
  at::Tensor shrink_weight, shrink_bias;  // [W, H]
  at::Tensor scale2;                      // [W], DINOv2 only
};

// All tensors are float32. There are T = 1 + G G positions: the class, then the
// patches row by row.
struct VitWeights {
  VitFamily family = VitFamily::kClip;
  int64_t width = 0;  // W, a multiple of kVitHeadWidth
  int64_t patch = 0;  // P, side of a patch in pixels
  int64_t grid = 0;   // G, patches per side of the positions

  at::Tensor patch_weight;                        // [W, 3, P, P]
  at::Tensor patch_bias;                          // [W], DINOv2 only
  at::Tensor class_token;                         // [W]
  at::Tensor positions;                           // [T, W]
  at::Tensor first_norm_weight, first_norm_bias;  // [W], CLIP only
  std::vector<VitBlock> blocks;
  at::Tensor last_norm_weight, last_norm_bias;  // [W]
  at::Tensor projection;                        // [E, W], CLIP only
};

// Family by the first layer's name, or nullopt for other tensors.
std::optional<VitFamily> VitFamilyOf(const std::vector<NamedTensor>& tensors);

// Ignores the tensors of CLIP's text half and of DINOv2's masked training, and
// counters.
//   INVALID_ARGUMENT  lists all tensors that are missing, misshapen, unexpected
//                     or not of a floating-point type.
absl::StatusOr<VitWeights> LoadVitWeights(VitFamily family,
                                          std::vector<NamedTensor> tensors,
                                          at::Device device = at::kCPU);

}  // namespace gandem
