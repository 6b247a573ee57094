// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "models/torch.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/sources/image_sources.h"

namespace gandem {
namespace {

absl::StatusOr<ImageShape> HeaderShapeOf(const ImageStore& source,
                                         int64_t index) {
  GANDEM_ASSIGN_OR_RETURN(const std::string stored, source.Fetch(index));
  const absl::StatusOr<ImageShape> shape = ShapeOfImage(stored);
  if (!shape.ok()) return Annotate(shape.status(), source.NameOf(index));
  return shape;
}

absl::StatusOr<ImageShape> LookAtAll(const ImageStore& source) {
  if (source.info().common_shape.has_value()) {
    return *source.info().common_shape;
  }
  GANDEM_ASSIGN_OR_RETURN(ImageShape all, HeaderShapeOf(source, 0));
  for (int64_t i = 1; i < source.size(); ++i) {
    GANDEM_ASSIGN_OR_RETURN(const ImageShape shape, HeaderShapeOf(source, i));
    all.channels = std::max(all.channels, shape.channels);
    if (shape.height != all.height || shape.width != all.width) {
      all.height = all.width = 0;
    }
  }
  return all;
}

class FileImages : public ImageSet {
 public:
  FileImages(std::unique_ptr<const ImageStore> source, ImageShape shape)
      : source_(std::move(source)), shape_(shape) {}

  int64_t size() const override { return source_->size(); }
  ImageShape shape() const override { return shape_; }
  std::string NameOf(int64_t index) const override {
    return source_->NameOf(index);
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_kind("files");
    GANDEM_ASSIGN_OR_RETURN(*card.mutable_sha256(), source_->ContentHash());
    card.set_channels(shape_.channels);
    card.set_height(shape_.height);
    card.set_width(shape_.width);
    return card;
  }

 protected:
  absl::StatusOr<at::Tensor> ReadImages(IndexRange range) override {
    return ReadOneByOne(range);
  }

  absl::StatusOr<std::vector<at::Tensor>> ReadEachImage(
      IndexRange range) override {
    std::vector<at::Tensor> images;
    for (int64_t i = range.first; i < range.end(); ++i) {
      GANDEM_ASSIGN_OR_RETURN(PixelImage image, Decode(i));
      images.push_back(
          torch::from_blob(image.pixels.data(),
                           {1, image.height, image.width, image.channels},
                           at::kByte)
              .permute({0, 3, 1, 2})
              .clone(at::MemoryFormat::Contiguous));
    }
    return images;
  }

 private:
  // Decodes an image to shape_.channels channels, in its own size.
  absl::StatusOr<PixelImage> Decode(int64_t index) const {
    GANDEM_ASSIGN_OR_RETURN(const std::string stored, source_->Fetch(index));
    GANDEM_ASSIGN_OR_RETURN(DecodedImage image,
                            source_->DecodePlain(index, stored));
    const ImageShape shape = ShapeOf(image.pixels);
    const bool fits = shape_.height == 0 || (shape.height == shape_.height &&
                                             shape.width == shape_.width);
    if (!fits || shape.channels > shape_.channels) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", source_->NameOf(index), "' is ", ShapeText(shape),
          ", but all images were ", ShapeText(shape_),
          " when the evaluation began: start it again, and do not change the "
          "images meanwhile"));
    }
    return WithChannels(std::move(image.pixels), shape_.channels);
  }

  const std::unique_ptr<const ImageStore> source_;
  const ImageShape shape_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path, std::optional<ImageShape> known) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<ImageStore> source, OpenSource(path));
  if (source->tensors().has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source->kind(),
                     " holds no pixels, and metrics need images: decode it to "
                     "image files first"));
  }
  if (!known.has_value()) {
    GANDEM_ASSIGN_OR_RETURN(known, LookAtAll(*source));
  }
  auto images = std::make_unique<FileImages>(std::move(source), *known);
  // Reading one image finds a kind of image that gandem cannot read.
  GANDEM_RETURN_IF_ERROR(images->ReadEach({.first = 0, .count = 1}));
  return images;
}

}  // namespace gandem
