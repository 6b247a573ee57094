// SPDX-License-Identifier: Apache-2.0
#include "evaluation/features/inception_extractor.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "evaluation/features/inception_v3.h"
#include "models/torch.h"

namespace gandem {
namespace {

// pt_inception-2015-12-05-6726825d.pth of pytorch-fid, which torch-fidelity
// publishes too.
constexpr char kWeightsHash[] =
    "6726825d0af5f729cebd5821db510b11b1cfad8faad88a03f1befd49fb9129b2";
// inception-2015-12-05.pt of StyleGAN2-ADA and later.
constexpr char kTorchScriptHash[] =
    "f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4";

// Images at a time. More would leave the CPU's caches: the first layers make
// 3 MB of each image.
constexpr int64_t kPiece = 8;

constexpr int64_t kInceptionSize = 299;

// A pixel of a resized axis lies `weight` of the way from `low` to `high`.
struct Tap {
  int64_t low;
  int64_t high;
  float weight;
};

// In float32 throughout, as TensorFlow and PyTorch compute it.
std::vector<Tap> MakeTaps(int64_t size, ResizeKernel kernel) {
  const float scale =
      static_cast<float>(size) / static_cast<float>(kInceptionSize);
  std::vector<Tap> taps;
  for (int64_t i = 0; i < kInceptionSize; ++i) {
    const float at =
        kernel == ResizeKernel::kTf1Bilinear
            ? static_cast<float>(i) * scale
            : std::max(0.0f, scale * (static_cast<float>(i) + 0.5f) - 0.5f);
    const int64_t low = std::min(static_cast<int64_t>(at), size - 1);
    taps.push_back({.low = low,
                    .high = std::min(low + 1, size - 1),
                    .weight = at - static_cast<float>(low)});
  }
  return taps;
}

// From byte to the network's range: (value - shift) * scale.
struct Range {
  float shift;
  float scale;
};

// Each kernel goes with the range of the program that has it.
Range RangeOf(ResizeKernel kernel) {
  return kernel == ResizeKernel::kTf1Bilinear
             ? Range{.shift = 128.0f, .scale = 1.0f / 128.0f}
             : Range{.shift = 127.5f, .scale = 1.0f / 127.5f};
}

float Between(float a, float b, float weight) { return a + (b - a) * weight; }

class Resizer {
 public:
  Resizer(const at::Tensor& images_NCHW, ResizeKernel kernel)
      : channels_(images_NCHW.size(1)),
        width_(images_NCHW.size(3)),
        plane_(images_NCHW.size(2) * width_),
        rows_(MakeTaps(images_NCHW.size(2), kernel)),
        columns_(MakeTaps(width_, kernel)),
        range_(RangeOf(kernel)) {}

  // One image: CHW bytes to HWC floats.
  void Apply(const uint8_t* in, float* out) const {
    for (const Tap& row : rows_) {
      for (const Tap& column : columns_) {
        for (int64_t c = 0; c < 3; ++c) {
          const uint8_t* plane = in + (channels_ == 3 ? c : 0) * plane_;
          const uint8_t* top = plane + row.low * width_;
          const uint8_t* bottom = plane + row.high * width_;
          const float value = Between(
              Between(top[column.low], top[column.high], column.weight),
              Between(bottom[column.low], bottom[column.high], column.weight),
              row.weight);
          *out++ = (value - range_.shift) * range_.scale;
        }
      }
    }
  }

 private:
  const int64_t channels_;
  const int64_t width_;
  const int64_t plane_;
  const std::vector<Tap> rows_;
  const std::vector<Tap> columns_;
  const Range range_;
};

// For metric cards.
std::string ResizeName(ResizeKernel kernel) {
  return kernel == ResizeKernel::kTf1Bilinear
             ? "bilinear as in TensorFlow 1, 299 x 299"
             : "bilinear at pixel centers, 299 x 299";
}

class InceptionExtractor : public FeatureExtractor {
 public:
  InceptionExtractor(InceptionV3 network, ResizeKernel resize, FeatureNet net)
      : FeatureExtractor(std::move(net)),
        network_(std::move(network)),
        resize_(resize) {}

 protected:
  absl::StatusOr<Features> Forward(const at::Tensor& images_NCHW) override {
    const at::Tensor images = images_NCHW.contiguous();
    std::vector<at::Tensor> features;
    std::vector<at::Tensor> logits;
    for (const at::Tensor& piece : images.split(kPiece)) {
      Features output = network_.Forward(ResizeForInception(piece, resize_));
      features.push_back(std::move(output.features_ND));
      if (network_.has_logits()) logits.push_back(std::move(output.logits_NK));
    }
    return Features{
        .features_ND = at::cat(features),
        .logits_NK = logits.empty() ? at::Tensor() : at::cat(logits)};
  }

 private:
  const InceptionV3 network_;
  const ResizeKernel resize_;
};

}  // namespace

at::Tensor ResizeForInception(const at::Tensor& images_NCHW,
                              ResizeKernel kernel) {
  const int64_t count = images_NCHW.size(0);
  at::Tensor resized =
      torch::empty({count, 3, kInceptionSize, kInceptionSize}, torch::kFloat,
                   at::MemoryFormat::ChannelsLast);
  const Resizer resizer(images_NCHW, kernel);
  const int64_t image_size = images_NCHW[0].numel();
  const uint8_t* in = images_NCHW.const_data_ptr<uint8_t>();
  float* out = resized.mutable_data_ptr<float>();
  at::parallel_for(0, count, /*grain_size=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      resizer.Apply(in + i * image_size,
                    out + i * 3 * kInceptionSize * kInceptionSize);
    }
  });
  return resized;
}

bool IsPublishedInception(const std::string& sha256) {
  return sha256 == kWeightsHash || sha256 == kTorchScriptHash;
}

absl::StatusOr<std::unique_ptr<FeatureExtractor>> MakeInceptionExtractor(
    std::vector<NamedTensor> tensors, const std::string& sha256,
    const ExtractorOptions& options) {
  if (!InceptionV3::HoldsWeights(tensors)) {
    return absl::InvalidArgumentError(
        "neither weights of the FID Inception, by the names of pytorch-fid and "
        "torch-fidelity (Conv2d_1a_3x3.conv.weight ...), nor a classifier of "
        "`gandem train-features`");
  }
  GANDEM_ASSIGN_OR_RETURN(InceptionV3 network,
                          InceptionV3::Load(std::move(tensors)));
  const bool published = IsPublishedInception(sha256);
  FeatureNet net = {
      .name = published ? "inception-2015-12-05"
                        : absl::StrCat("inception-", sha256.substr(0, 8)),
      .sha256 = sha256,
      .feature_dim = InceptionV3::kFeatureDim,
      .num_classes = network.has_logits() ? InceptionV3::kNumClasses : 0,
      .resize = ResizeName(options.resize),
      .is_inception = published};
  return std::make_unique<InceptionExtractor>(std::move(network),
                                              options.resize, std::move(net));
}

}  // namespace gandem
