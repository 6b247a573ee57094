// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/inception_extractor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "evaluation/features/inception_input.h"
#include "evaluation/networks/inception_v3.h"
#include "models/torch.h"

namespace gandem {
namespace {

// Hash of pt_inception-2015-12-05-6726825d.pth, which pytorch-fid and
// torch-fidelity publish.
constexpr char kWeightsHash[] =
    "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2";
// Hash of inception-2015-12-05.pt of StyleGAN2-ADA and later.
constexpr char kTorchScriptHash[] =
    "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4";

// Images per pass. The first layers make 3 MB of each image, so more images
// would not fit into the CPU's caches.
constexpr int64_t kPiece = 8;

class InceptionExtractor : public FeatureExtractor {
 public:
  // net.feature_dim selects the layer.
  InceptionExtractor(InceptionV3 network, InputResize resize, FeatureNet net,
                     const FeatureCompute& compute)
      : FeatureExtractor(std::move(net), compute),
        network_(std::move(network)),
        resize_(resize) {}

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    const at::Tensor images = images_NCHW.contiguous();
    std::vector<at::Tensor> features;
    std::vector<at::Tensor> logits;
    for (const at::Tensor& piece : images.split(kPiece)) {
      Features output = network_.Forward(
          ResizeForInception(piece, resize_).to(compute().device),
          net().feature_dim);
      features.push_back(std::move(output.features_ND));
      if (net().num_classes > 0) logits.push_back(std::move(output.logits_NK));
    }
    return Features{
        .features_ND = at::cat(features),
        .logits_NK = logits.empty() ? at::Tensor() : at::cat(logits)};
  }

 private:
  const InceptionV3 network_;
  const InputResize resize_;
};

}  // namespace

absl::Status CheckInceptionDims(int64_t dims) {
  const auto& known = InceptionV3::kLayerDims;
  if (std::ranges::find(known, dims) != std::end(known)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("dims ", dims, " is none of ", absl::StrJoin(known, ", ")));
}

bool IsPublishedInception(const std::string& sha256) {
  return sha256 == kWeightsHash || sha256 == kTorchScriptHash;
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeInceptionExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options) {
  if (!InceptionV3::HoldsWeights(tensors)) {
    return absl::InvalidArgumentError(
        "neither weights of the FID Inception with the names of pytorch-fid or "
        "torch-fidelity (Conv2d_1a_3x3.conv.weight ...), nor a classifier of "
        "`gandem train-features`, nor weights of CLIP or DINOv2");
  }
  GANDEM_ASSIGN_OR_RETURN(
      InceptionV3 network,
      InceptionV3::Load(std::move(tensors), options.compute.device));
  const int64_t dims = options.dims.value_or(InceptionV3::kFeatureDim);
  GANDEM_RETURN_IF_ERROR(CheckInceptionDims(dims));
  const bool last = dims == InceptionV3::kFeatureDim;
  const InputResize resize = options.resize.value_or(InputResize::kTf1);
  const bool published = IsPublishedInception(sha256);
  FeatureNet net = {
      .name = published ? "inception-2015-12-05"
                        : absl::StrCat("inception-", sha256.substr(0, 8)),
      .sha256 = sha256,
      .feature_dim = dims,
      .num_classes =
          network.has_logits() && last ? InceptionV3::kNumClasses : 0,
      .resize = InputResizeText(resize),
      .is_inception = published && last};
  if (!last) {
    net.part = absl::StrCat("layer of ", dims);
    absl::StrAppend(&net.name, "-", dims);
  }
  return std::make_unique<InceptionExtractor>(std::move(network), resize,
                                              std::move(net), options.compute);
}

}  // namespace gandem
