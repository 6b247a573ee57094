// SPDX-License-Identifier: Apache-2.0
#include "extras/vit_features/vit_extractor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/png.h"
#include "common/status.h"
#include "extras/vit_features/vision_transformer.h"
#include "models/torch.h"
#include "pipeline/kernel_resampler.h"

namespace gandem {
namespace {

// Images per forward pass; limits the memory of activations.
constexpr int64_t kVitPiece = 8;

constexpr int64_t kMaxVitInput = 1024;

// Statistics of values in [0, 1], published with the weights.
struct VitNormalization {
  std::array<float, 3> mean;
  std::array<float, 3> sd;
};
constexpr VitNormalization kImageNet = {.mean = {0.485f, 0.456f, 0.406f},
                                        .sd = {0.229f, 0.224f, 0.225f}};
constexpr VitNormalization kClipNormalization = {
    .mean = {0.48145466f, 0.4578275f, 0.40821073f},
    .sd = {0.26862954f, 0.26130258f, 0.27577711f}};

// Resizes uint8 [C, H, W] to uint8 [C, size, size].
at::Tensor VitResized(const at::Tensor& image_CHW, int64_t size) {
  const at::Tensor image_HWC = image_CHW.permute({1, 2, 0}).contiguous();
  const auto* const bytes = image_HWC.const_data_ptr<uint8_t>();
  const PixelImage image = {.channels = image_HWC.size(2),
                            .height = image_HWC.size(0),
                            .width = image_HWC.size(1),
                            .pixels = {bytes, bytes + image_HWC.numel()}};
  const KernelResampler resampler(ResizeKernel::kBicubic, image.height,
                                  image.width, size, size);
  const PixelImage resized = resampler.Apply(image);
  const at::Tensor resized_HWC =
      torch::empty({size, size, resized.channels}, torch::kByte);
  std::ranges::copy(resized.pixels, resized_HWC.mutable_data_ptr<uint8_t>());
  return resized_HWC.permute({2, 0, 1});
}

// The largest square in the middle, as CMMD's code cuts it.
at::Tensor CentralSquare(const at::Tensor& images_NCHW) {
  const int64_t height = images_NCHW.size(2);
  const int64_t width = images_NCHW.size(3);
  const int64_t side = std::min(height, width);
  return images_NCHW.narrow(2, (height - side) / 2, side)
      .narrow(3, (width - side) / 2, side);
}

class VitExtractor : public FeatureExtractor {
 public:
  VitExtractor(VisionTransformer network, VitFamily family, FeatureNet net,
               const FeatureCompute& compute)
      : FeatureExtractor(std::move(net), compute),
        network_(std::move(network)),
        family_(family) {}

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    const at::Tensor images = images_NCHW.contiguous();
    std::vector<at::Tensor> features;
    for (const at::Tensor& piece : images.split(kVitPiece)) {
      features.push_back(
          network_.Forward(VitInput(piece, family_, network_.input_size())
                               .to(compute().device)));
    }
    return Features{.features_ND = at::cat(features)};
  }

 private:
  const VisionTransformer network_;
  const VitFamily family_;
};

// "clip-vit-24x1024-patch14-1a2b3c4d": blocks, width, patch.
std::string VitNetName(const VitWeights& weights, absl::string_view family,
                       const std::string& sha256) {
  return absl::StrCat(family, "-vit-", weights.blocks.size(), "x",
                      weights.width, "-patch", weights.patch, "-",
                      sha256.substr(0, 8));
}

}  // namespace

at::Tensor VitInput(const at::Tensor& images_NCHW, VitFamily family,
                    int64_t size) {
  const bool clip = family == VitFamily::kClip;
  const at::Tensor cut = clip ? CentralSquare(images_NCHW) : images_NCHW;
  std::vector<at::Tensor> resized;
  for (int64_t i = 0; i < cut.size(0); ++i) {
    resized.push_back(VitResized(cut[i], size));
  }
  const VitNormalization& normal = clip ? kClipNormalization : kImageNet;
  const at::Tensor mean = torch::tensor(at::ArrayRef<float>(normal.mean));
  const at::Tensor sd = torch::tensor(at::ArrayRef<float>(normal.sd));
  return ((at::stack(resized).to(at::kFloat) / 255 - mean.view({3, 1, 1})) /
          sd.view({3, 1, 1}))
      .contiguous();
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeVitExtractor(
    VitFamily family, std::vector<NamedTensor> tensors,
    const std::string& sha256, const FeatureCompute& compute) {
  GANDEM_ASSIGN_OR_RETURN(
      VitWeights weights,
      LoadVitWeights(family, std::move(tensors), compute.device));
  const int64_t size = VisionTransformer::InputSize(weights);
  if (size < 1 || size > kMaxVitInput) {
    return absl::InvalidArgumentError(absl::StrCat(
        "patches of ", weights.patch, " pixels and positions for ",
        weights.grid, " x ", weights.grid,
        " of them: expected patches that 224 pixels are a multiple of "
        "(DINOv2), or at most ",
        kMaxVitInput, " pixels a side (CLIP)"));
  }
  const bool clip = family == VitFamily::kClip;
  FeatureNet net;
  net.sha256 = sha256;
  net.resize = absl::StrCat(
      clip ? "CMMD's, central square, bicubic as in Pillow, 8 bits, "
           : "dgm-eval's, bicubic as in Pillow, 8 bits, ",
      size, " x ", size);
  net.family = clip ? kClipFamily : kDinov2Family;
  net.name = VitNetName(weights, net.family, sha256);
  VisionTransformer network(std::move(weights));
  net.feature_dim = network.feature_dim();
  return std::make_unique<VitExtractor>(std::move(network), family,
                                        std::move(net), compute);
}

}  // namespace gandem
