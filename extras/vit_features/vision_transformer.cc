// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/vision_transformer.h"

#include <utility>

#include "models/torch.h"

namespace gandem {
namespace {

constexpr int64_t kDinoSize = 224;
// Meta's interpolate_offset for its published weights.
constexpr double kPositionOffset = 0.1;

// [1 + G G, W] for a square of `grid` patches a side.
at::Tensor ResizedPositions(const VitWeights& weights, int64_t grid) {
  if (grid == weights.grid) return weights.positions;
  const double scale = (static_cast<double>(grid) + kPositionOffset) /
                       static_cast<double>(weights.grid);
  const at::Tensor patches_NWGG =
      weights.positions.slice(0, 1)
          .view({1, weights.grid, weights.grid, weights.width})
          .permute({0, 3, 1, 2});
  const at::Tensor resized_NWGG =
      at::upsample_bicubic2d(patches_NWGG, {grid, grid},
                             /*align_corners=*/false, scale, scale);
  return at::cat({weights.positions.slice(0, 0, 1),
                  resized_NWGG.permute({0, 2, 3, 1})
                      .reshape({grid * grid, weights.width})});
}

at::Tensor VitActivation(VitFamily family, const at::Tensor& x) {
  if (family == VitFamily::kDinov2) return at::gelu(x);
  return x * at::sigmoid(1.702 * x);
}

}  // namespace

int64_t VisionTransformer::InputSize(const VitWeights& weights) {
  if (weights.family == VitFamily::kClip) return weights.grid * weights.patch;
  return kDinoSize % weights.patch == 0 ? kDinoSize : 0;
}

VisionTransformer::VisionTransformer(VitWeights weights)
    : weights_(std::move(weights)),
      positions_TW_(ResizedPositions(weights_, input_size() / weights_.patch)) {
}

int64_t VisionTransformer::feature_dim() const {
  return weights_.projection.defined() ? weights_.projection.size(0)
                                       : weights_.width;
}

at::Tensor VisionTransformer::Norm(const at::Tensor& x,
                                   const at::Tensor& weight,
                                   const at::Tensor& bias) const {
  const double eps = weights_.family == VitFamily::kClip ? 1e-5 : 1e-6;
  return at::layer_norm(x, {weights_.width}, weight, bias, eps);
}

at::Tensor VisionTransformer::Attend(const VitBlock& block,
                                     const at::Tensor& x_NTW) const {
  const int64_t count = x_NTW.size(0);
  const int64_t tokens = x_NTW.size(1);
  // [3, N, heads, T, 64]
  const at::Tensor qkv =
      at::linear(x_NTW, block.qkv_weight, block.qkv_bias)
          .view(
              {count, tokens, 3, weights_.width / kVitHeadWidth, kVitHeadWidth})
          .permute({2, 0, 3, 1, 4});
  const at::Tensor seen =
      at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
          .transpose(1, 2)
          .reshape({count, tokens, weights_.width});
  return at::linear(seen, block.out_weight, block.out_bias);
}

at::Tensor VisionTransformer::Apply(const VitBlock& block,
                                    const at::Tensor& x_NTW) const {
  at::Tensor branch =
      Attend(block, Norm(x_NTW, block.norm1_weight, block.norm1_bias));
  if (block.scale1.defined()) branch = branch * block.scale1;
  const at::Tensor y_NTW = x_NTW + branch;
  const at::Tensor hidden =
      at::linear(Norm(y_NTW, block.norm2_weight, block.norm2_bias),
                 block.expand_weight, block.expand_bias);
  branch = at::linear(VitActivation(weights_.family, hidden),
                      block.shrink_weight, block.shrink_bias);
  if (block.scale2.defined()) branch = branch * block.scale2;
  return y_NTW + branch;
}

at::Tensor VisionTransformer::Forward(const at::Tensor& images_NCHW) const {
  const torch::NoGradGuard no_grad;
  const at::Tensor patches_NTW =
      at::conv2d(images_NCHW, weights_.patch_weight, weights_.patch_bias,
                 /*stride=*/weights_.patch)
          .flatten(2)
          .transpose(1, 2);
  const at::Tensor class_NTW =
      weights_.class_token.view({1, 1, -1})
          .expand({images_NCHW.size(0), 1, weights_.width});
  at::Tensor x_NTW = at::cat({class_NTW, patches_NTW}, 1) + positions_TW_;
  if (weights_.first_norm_weight.defined()) {
    x_NTW = Norm(x_NTW, weights_.first_norm_weight, weights_.first_norm_bias);
  }
  for (const VitBlock& block : weights_.blocks) x_NTW = Apply(block, x_NTW);
  const at::Tensor class_NW = Norm(
      x_NTW.select(1, 0), weights_.last_norm_weight, weights_.last_norm_bias);
  return weights_.projection.defined()
             ? at::linear(class_NW, weights_.projection)
             : class_NW;
}

}  // namespace gandem
