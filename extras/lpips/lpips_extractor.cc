// SPDX-License-Identifier: Apache-2.0
#include "extras/lpips/lpips_extractor.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "extras/lpips/lpips_network.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Pairs per forward pass; limits the memory of activations.
constexpr int64_t kLpipsPiece = 8;

// float32 RGB in [-1, 1]. Bytes are converted by the authors' formula.
at::Tensor LpipsInput(const at::Tensor& images_NCHW) {
  const at::Tensor values = images_NCHW.scalar_type() == at::kByte
                                ? images_NCHW.to(at::kFloat) / 127.5 - 1
                                : images_NCHW;
  return values.size(1) == 3 ? values.contiguous()
                             : values.expand({-1, 3, -1, -1}).contiguous();
}

class LpipsExtractor : public FeatureExtractor {
 public:
  LpipsExtractor(LpipsNetwork network, FeatureNet net,
                 const FeatureCompute& compute)
      : FeatureExtractor(std::move(net), compute),
        network_(std::move(network)) {}

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    std::vector<at::Tensor> distances;
    for (const at::Tensor& piece : images_NCHW.split(kLpipsPiece)) {
      const std::vector<at::Tensor> pair =
          piece.to(compute().device).chunk(2, /*dim=*/1);
      distances.push_back(
          network_.Distances(LpipsInput(pair[0]), LpipsInput(pair[1])));
    }
    return Features{.features_ND = at::cat(distances).unsqueeze(1)};
  }

 private:
  const LpipsNetwork network_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeLpipsExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options) {
  GANDEM_ASSIGN_OR_RETURN(
      LpipsNetwork network,
      LpipsNetwork::Load(std::move(tensors), options.compute.device));
  const auto& [channels, height, width] = options.image_shape;
  if (height == 0) {
    return absl::InvalidArgumentError(
        "LPIPS needs images of one size, but these have several sizes");
  }
  if (std::min(height, width) < network.least_pixels()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "LPIPS with ", network.trunk(), " needs images of ",
        network.least_pixels(), " pixels a side or more, but these have ",
        height, " x ", width,
        network.trunk() == "vgg" ? "" : "; LPIPS with vgg takes smaller ones"));
  }
  FeatureNet net;
  net.name = network.trunk();
  net.sha256 = sha256;
  net.feature_dim = 1;
  net.resize = "none";
  net.family = kLpipsFamily;
  return std::make_unique<LpipsExtractor>(std::move(network), std::move(net),
                                          options.compute);
}

}  // namespace gandem
