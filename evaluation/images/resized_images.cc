// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/resized_images.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/resampler.h"

namespace gandem {
namespace {

constexpr int64_t kMaxSize = 1 << 14;

at::Tensor ResizeByArea(const at::Tensor& bytes_NCHW, const ImageShape& from,
                        const ImageShape& to) {
  // The resampler is for values of [-1, 1].
  const at::Tensor images_NCHW = bytes_NCHW / 255;
  const Resampler resampler(from, to);
  const auto from_size = static_cast<size_t>(from.NumValues());
  const auto to_size = static_cast<size_t>(to.NumValues());
  const at::Tensor resized_NCHW =
      torch::empty({images_NCHW.size(0), to.channels, to.height, to.width});
  const float* in = images_NCHW.const_data_ptr<float>();
  float* out = resized_NCHW.mutable_data_ptr<float>();
  for (int64_t i = 0; i < images_NCHW.size(0); ++i) {
    resampler.Apply({in, from_size}, {out, to_size});
    in += from_size;
    out += to_size;
  }
  return resized_NCHW * 255;
}

at::Tensor ResizeBilinear(const at::Tensor& images_NCHW, const ImageShape&,
                          const ImageShape& to) {
  return at::upsample_bilinear2d(images_NCHW, {to.height, to.width},
                                 /*align_corners=*/false);
}

at::Tensor ResizeBicubic(const at::Tensor& images_NCHW, const ImageShape&,
                         const ImageShape& to) {
  return at::_upsample_bicubic2d_aa(images_NCHW, {to.height, to.width},
                                    /*align_corners=*/false);
}

struct NamedKernel {
  absl::string_view name;
  at::Tensor (*resize)(const at::Tensor& images_NCHW, const ImageShape& from,
                       const ImageShape& to);
};
constexpr NamedKernel kKernels[] = {{"area", &ResizeByArea},
                                    {"bilinear", &ResizeBilinear},
                                    {"bicubic", &ResizeBicubic}};

const NamedKernel* FindKernel(absl::string_view name) {
  return std::ranges::find(kKernels, name, &NamedKernel::name);
}

class ResizedImages : public ImageSet {
 public:
  ResizedImages(std::unique_ptr<ImageSet> inner, const ImagesSpec::Resize& spec)
      : inner_(std::move(inner)),
        spec_(spec),
        shape_({.channels = inner_->shape().channels,
                .height = spec.height(),
                .width = spec.width()}) {}

  int64_t size() const override { return inner_->size(); }
  ImageShape shape() const override { return shape_; }
  int64_t num_classes() const override { return inner_->num_classes(); }
  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override {
    return inner_->ReadLabels(range);
  }

  std::string NameOf(int64_t index) const override {
    return inner_->NameOf(index);
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    GANDEM_ASSIGN_OR_RETURN(ImagesCard card, inner_->Describe());
    const std::string resize = absl::StrCat(
        spec_.kernel(), " to ", spec_.height(), " x ", spec_.width());
    card.set_fit(card.fit().empty() ? resize
                                    : absl::StrCat(card.fit(), ", ", resize));
    card.set_height(spec_.height());
    card.set_width(spec_.width());
    Sha256 hash;
    hash.Update(absl::StrCat("resized ", card.sha256(), " ", resize));
    card.set_sha256(hash.Finish());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    if (inner_->shape().height > 0) {
      GANDEM_ASSIGN_OR_RETURN(const at::Tensor bytes_NCHW, inner_->Read(range));
      return Resize(bytes_NCHW);
    }
    GANDEM_ASSIGN_OR_RETURN(std::vector<at::Tensor> images,
                            inner_->ReadEach(range));
    for (at::Tensor& image_NCHW : images) image_NCHW = Resize(image_NCHW);
    return at::cat(images);
  }

 private:
  at::Tensor Resize(const at::Tensor& bytes_NCHW) const {
    const ImageShape from = {.channels = bytes_NCHW.size(1),
                             .height = bytes_NCHW.size(2),
                             .width = bytes_NCHW.size(3)};
    if (from == shape_) return bytes_NCHW;
    return FindKernel(spec_.kernel())
        ->resize(bytes_NCHW.to(at::kFloat), from, shape_)
        .round()
        .clamp(0, 255)
        .to(at::kByte)
        .contiguous();
  }

  const std::unique_ptr<ImageSet> inner_;
  const ImagesSpec::Resize spec_;
  const ImageShape shape_;
};

}  // namespace

absl::Status CheckResizeKernel(absl::string_view kernel) {
  if (FindKernel(kernel) != std::end(kKernels)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("resize '", kernel, "' is none of area, bilinear, bicubic"));
}

absl::StatusOr<std::unique_ptr<ImageSet>> ResizeImages(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Resize& spec) {
  GANDEM_RETURN_IF_ERROR(CheckResizeKernel(spec.kernel()));
  Faults faults("resize");
  faults.CheckRange("height", spec.height(), 1, kMaxSize);
  faults.CheckRange("width", spec.width(), 1, kMaxSize);
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return std::make_unique<ResizedImages>(std::move(inner), spec);
}

}  // namespace gandem
