// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/half_images.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace gandem {
namespace {

class HalfImages : public ImageStore {
 public:
  HalfImages(std::shared_ptr<const ImageStore> source, ImageHalf half)
      : source_(std::move(source)), half_(half) {}

  std::string kind() const override { return source_->kind(); }
  int64_t size() const override { return source_->size(); }
  UnusedFiles unused() const override { return source_->unused(); }
  std::optional<ImageShape> common_shape() const override {
    std::optional<ImageShape> shape = source_->common_shape();
    if (shape.has_value()) shape->width /= 2;
    return shape;
  }
  std::string NameOf(int64_t index) const override {
    return source_->NameOf(index);
  }
  int64_t LabelOf(int64_t index) const override {
    return source_->LabelOf(index);
  }
  const std::vector<std::string>& class_names() const override {
    return source_->class_names();
  }
  std::string unused_labels() const override {
    return source_->unused_labels();
  }
  int64_t left_out() const override { return source_->left_out(); }
  std::vector<int64_t> Units() const override { return source_->Units(); }
  int64_t stored_bytes() const override { return source_->stored_bytes(); }
  bool reads_whole_units() const override {
    return source_->reads_whole_units();
  }
  std::string KeyOf(int64_t index) const override {
    return source_->KeyOf(index);
  }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    return source_->Fetch(index);
  }
  absl::StatusOr<std::optional<std::string>> FetchStart(
      int64_t index, int64_t most) const override {
    return source_->FetchStart(index, most);
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override {
    GANDEM_ASSIGN_OR_RETURN(DecodedImage image, source_->Decode(index, stored));
    return Cut(index, std::move(image));
  }
  absl::StatusOr<DecodedImage> DecodePlain(
      int64_t index, absl::string_view stored) const override {
    GANDEM_ASSIGN_OR_RETURN(DecodedImage image,
                            source_->DecodePlain(index, stored));
    return Cut(index, std::move(image));
  }

  absl::StatusOr<std::string> ContentHash() const override {
    return source_->ContentHash();
  }
  absl::StatusOr<std::string> Fingerprint() const override {
    return source_->Fingerprint();
  }

 private:
  absl::StatusOr<DecodedImage> Cut(int64_t index, DecodedImage image) const {
    const PixelImage& whole = image.pixels;
    if (whole.width % 2 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(index), ": ", whole.width,
                       " pixels wide, and two halves side by side are expected "
                       "(data.side_by_side)"));
    }
    PixelImage part = {.channels = whole.channels,
                       .height = whole.height,
                       .width = whole.width / 2};
    const int64_t row_bytes = part.width * part.channels;
    part.pixels.reserve(static_cast<size_t>(part.height * row_bytes));
    const uint8_t* row =
        whole.pixels.data() + (half_ == ImageHalf::kLeft ? 0 : row_bytes);
    for (int64_t y = 0; y < part.height; ++y, row += 2 * row_bytes) {
      part.pixels.insert(part.pixels.end(), row, row + row_bytes);
    }
    image.pixels = std::move(part);
    return image;
  }

  // Never change after construction.
  const std::shared_ptr<const ImageStore> source_;
  const ImageHalf half_;
};

}  // namespace

std::unique_ptr<ImageStore> HalfOf(std::shared_ptr<const ImageStore> source,
                                   ImageHalf half) {
  return std::make_unique<HalfImages>(std::move(source), half);
}

}  // namespace gandem
