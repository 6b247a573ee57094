// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stored_images.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "pipeline/byte_values.h"

namespace gandem {
namespace {

absl::StatusOr<PixelImage> DecodeExact(const ImageStore& source, int64_t index,
                                       const std::string& stored) {
  GANDEM_ASSIGN_OR_RETURN(DecodedImage image, source.Decode(index, stored));
  if (!image.kind.exact()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", source.NameOf(index), "' is ", KindText(image.kind),
        "; metrics are defined for 8-bit RGB (or gray) images: convert all of "
        "them"));
  }
  return std::move(image.pixels);
}

class StoredImages : public Dataset {
 public:
  StoredImages(std::unique_ptr<const ImageStore> source, ImageShape shape)
      : source_(std::move(source)), shape_(shape) {}

  int64_t size() const override { return source_->size(); }
  ImageShape shape() const override { return shape_; }

  absl::StatusOr<StoredSample> Fetch(int64_t index) const override {
    GANDEM_ASSIGN_OR_RETURN(std::string image, source_->Fetch(index));
    return StoredSample{.image = std::move(image)};
  }
  absl::StatusOr<int64_t> Finish(int64_t index, StoredSample stored,
                                 std::optional<SampleKey> /*key*/,
                                 std::span<float> out) const override {
    GANDEM_CHECK(static_cast<int64_t>(out.size()) == shape_.NumValues());
    GANDEM_ASSIGN_OR_RETURN(const PixelImage image,
                            DecodeExact(*source_, index, stored.image));
    if (ShapeOf(image) != shape_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", source_->NameOf(index), "' is ", ShapeText(ShapeOf(image)),
          ", but '", source_->NameOf(0), "' is ", ShapeText(shape_),
          ": all images must be alike"));
    }
    WriteValues(image, /*top=*/0, /*left=*/0, shape_, out);
    return source_->LabelOf(index);
  }

  absl::StatusOr<std::string> ContentHash() const override {
    return source_->ContentHash();
  }

 private:
  // Never change after construction.
  const std::unique_ptr<const ImageStore> source_;
  const ImageShape shape_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> AsStored(
    std::unique_ptr<const ImageStore> source) {
  GANDEM_ASSIGN_OR_RETURN(const std::string stored, source->Fetch(0));
  GANDEM_ASSIGN_OR_RETURN(const PixelImage first,
                          DecodeExact(*source, 0, stored));
  return std::make_unique<StoredImages>(std::move(source), ShapeOf(first));
}

}  // namespace gandem
