// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/derived_images.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/faults.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/keyed_permutation.h"
#include "pipeline/resampler.h"

namespace gandem {
namespace {

constexpr uint64_t kPairingSeed = 0;
constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxSize = 1 << 14;

at::Tensor ResizeByArea(const at::Tensor& bytes_NCHW, const ImageShape& from,
                        const ImageShape& to) {
  // The resampler takes values of [-1, 1].
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

// Forwards everything to another set; subclasses override their changes.
class DerivedImages : public ImageSet {
 public:
  explicit DerivedImages(std::unique_ptr<ImageSet> inner)
      : inner_(std::move(inner)) {}

  int64_t size() const override { return inner_->size(); }
  ImageShape shape() const override { return inner_->shape(); }
  std::string NameOf(int64_t index) const override {
    return inner_->NameOf(index);
  }

 protected:
  ImageSet& inner() const { return *inner_; }

  // Returns the other set's card with a hash of `what`, its old hash and
  // `more`.
  absl::StatusOr<ImagesCard> DescribeAs(const std::string& what,
                                        const std::string& more) const {
    GANDEM_ASSIGN_OR_RETURN(ImagesCard card, inner_->Describe());
    Sha256 hash;
    hash.Update(absl::StrCat(what, " ", card.sha256(), more));
    card.set_sha256(hash.Finish());
    return card;
  }

 private:
  const std::unique_ptr<ImageSet> inner_;
};

class SubsetImages : public DerivedImages {
 public:
  SubsetImages(std::unique_ptr<ImageSet> images,
               const ImagesSpec::Subset& subset)
      : DerivedImages(std::move(images)), seed_(subset.seed()) {
    const KeyedPermutation order(seed_, Purpose::kResampling, inner().size());
    for (int64_t i = 0; i < subset.count(); ++i) {
      places_.push_back(order.At(/*turn=*/0, i));
    }
    std::ranges::sort(places_);
  }

  int64_t size() const override { return std::ssize(places_); }
  std::string NameOf(int64_t index) const override {
    return inner().NameOf(places_[index]);
  }
  absl::StatusOr<ImagesCard> Describe() const override {
    return DescribeAs("subset", absl::StrCat(" ", size(), " of ",
                                             inner().size(), " seed ", seed_));
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return ReadOneByOne(range);
  }
  absl::StatusOr<std::vector<at::Tensor>> ReadEachImage(
      IndexRange range) override {
    std::vector<at::Tensor> images;
    for (int64_t i = range.first; i < range.end(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(
          const std::vector<at::Tensor> one,
          inner().ReadEach({.first = places_[i], .count = 1}));
      images.push_back(one.front());
    }
    return images;
  }

 private:
  const uint64_t seed_;
  std::vector<int64_t> places_;  // never changes after construction
};

class ResizedImages : public DerivedImages {
 public:
  ResizedImages(std::unique_ptr<ImageSet> images,
                const ImagesSpec::Resize& spec)
      : DerivedImages(std::move(images)),
        spec_(spec),
        shape_({.channels = inner().shape().channels,
                .height = spec.height(),
                .width = spec.width()}) {}

  ImageShape shape() const override { return shape_; }
  absl::StatusOr<ImagesCard> Describe() const override {
    const std::string resize = absl::StrCat(
        spec_.kernel(), " to ", spec_.height(), " x ", spec_.width());
    GANDEM_ASSIGN_OR_RETURN(ImagesCard card,
                            DescribeAs("resized", " " + resize));
    card.set_fit(card.fit().empty() ? resize
                                    : absl::StrCat(card.fit(), ", ", resize));
    card.set_height(spec_.height());
    card.set_width(spec_.width());
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    if (inner().shape().height > 0) {
      GANDEM_ASSIGN_OR_RETURN(const at::Tensor bytes_NCHW, inner().Read(range));
      return Resize(bytes_NCHW);
    }
    GANDEM_ASSIGN_OR_RETURN(std::vector<at::Tensor> images,
                            inner().ReadEach(range));
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

  const ImagesSpec::Resize spec_;
  const ImageShape shape_;
};

class PairedImages : public DerivedImages {
 public:
  explicit PairedImages(std::unique_ptr<ImageSet> images)
      : DerivedImages(std::move(images)) {
    if (inner().size() == kEndless) return;
    order_.emplace(kPairingSeed, Purpose::kResampling, inner().size());
  }

  int64_t size() const override {
    return order_.has_value() ? inner().size() / 2 : kEndless;
  }
  std::string NameOf(int64_t index) const override {
    return absl::StrCat(inner().NameOf(PlaceOf(2 * index)), " beside ",
                        inner().NameOf(PlaceOf(2 * index + 1)));
  }
  absl::StatusOr<ImagesCard> Describe() const override {
    return DescribeAs("pairs", "");
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    at::Tensor images_NCHW;
    if (order_.has_value()) {
      std::vector<at::Tensor> images;
      for (int64_t i = 2 * range.first; i < 2 * range.end(); ++i) {
        GANDEM_ASSIGN_OR_RETURN(
            const at::Tensor image,
            inner().Read({.first = PlaceOf(i), .count = 1}));
        images.push_back(image);
      }
      images_NCHW = at::cat(images);
    } else {
      GANDEM_ASSIGN_OR_RETURN(
          images_NCHW,
          inner().Read({.first = 2 * range.first, .count = 2 * range.count}));
    }
    // [2 N, C, H, W] is [N, 2 C, H, W] in memory.
    return images_NCHW.view({range.count, 2 * images_NCHW.size(1),
                             images_NCHW.size(2), images_NCHW.size(3)});
  }

 private:
  int64_t PlaceOf(int64_t i) const {
    return order_.has_value() ? order_->At(/*turn=*/0, i) : i;
  }

  std::optional<KeyedPermutation> order_;  // never changes after construction
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> SubsetOf(
    std::unique_ptr<ImageSet> inner, const ImagesSpec::Subset& subset) {
  Faults faults("subset");
  faults.CheckRange("count", subset.count(), 1, inner->size());
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  return std::make_unique<SubsetImages>(std::move(inner), subset);
}

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

absl::StatusOr<std::unique_ptr<ImageSet>> PairsOf(
    std::unique_ptr<ImageSet> inner) {
  if (inner->shape().height == 0) {
    return absl::InvalidArgumentError(
        "the images are of several sizes, but a pair needs images of one size");
  }
  if (inner->size() < 2) {
    return absl::InvalidArgumentError("a pair needs two images");
  }
  return std::make_unique<PairedImages>(std::move(inner));
}

}  // namespace gandem
