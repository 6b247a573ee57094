// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/stored_images.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/fitted_images.h"
#include "pipeline/formats/image_decoder.h"

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
  if (source.info().common_shape.has_value())
    return *source.info().common_shape;
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

}  // namespace

absl::StatusOr<std::unique_ptr<StoredImages>> StoredImages::Open(
    std::unique_ptr<const ImageStore> source, std::optional<ImageShape> known) {
  if (source->tensors().has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source->kind(),
                     " holds numbers that are no pixels, and metrics judge "
                     "images: decode them to image files first"));
  }
  ImageShape shape;
  if (known.has_value()) {
    shape = *known;
  } else {
    GANDEM_ASSIGN_OR_RETURN(shape, LookAtAll(*source));
  }
  std::unique_ptr<StoredImages> images(
      new StoredImages(std::move(source), shape));
  // The first image tells of a folder of what no program reads.
  GANDEM_RETURN_IF_ERROR(images->Read(0));
  return images;
}

absl::StatusOr<PixelImage> StoredImages::Read(int64_t index) const {
  GANDEM_ASSIGN_OR_RETURN(const std::string stored, source_->Fetch(index));
  GANDEM_ASSIGN_OR_RETURN(DecodedImage image,
                          source_->DecodePlain(index, stored));
  const ImageShape shape = ShapeOf(image.pixels);
  const bool fits = shape_.height == 0 || (shape.height == shape_.height &&
                                           shape.width == shape_.width);
  if (!fits || shape.channels > shape_.channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", source_->NameOf(index), "' is ", ShapeText(shape),
        ", and when the evaluation began all images were ", ShapeText(shape_),
        ": do not change them meanwhile, and start it again"));
  }
  return WithChannels(std::move(image.pixels), shape_.channels);
}

}  // namespace gandem
