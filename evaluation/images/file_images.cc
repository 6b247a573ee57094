// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/file_images.h"

#include <utility>
#include <vector>

#include "common/status.h"
#include "evaluation/images/stored_images.h"
#include "models/torch.h"
#include "pipeline/sources/image_sources.h"

namespace gandem {
namespace {

class FileImages : public ImageSet {
 public:
  explicit FileImages(std::unique_ptr<StoredImages> images)
      : images_(std::move(images)), num_classes_(NumClasses(source())) {}

  int64_t size() const override { return source().size(); }
  ImageShape shape() const override { return images_->shape(); }
  int64_t num_classes() const override { return num_classes_; }
  std::string NameOf(int64_t index) const override {
    return source().NameOf(index);
  }

  absl::StatusOr<at::Tensor> ReadLabels(IndexRange range) override {
    if (num_classes_ == 0) return ImageSet::ReadLabels(range);
    const at::Tensor labels_N = torch::empty({range.count}, at::kLong);
    int64_t* label = labels_N.mutable_data_ptr<int64_t>();
    for (int64_t i = range.first; i < range.end(); ++i) {
      *label++ = source().LabelOf(i);
    }
    return labels_N;
  }

  absl::StatusOr<ImagesCard> Describe() const override {
    ImagesCard card;
    card.set_kind("files");
    GANDEM_ASSIGN_OR_RETURN(*card.mutable_sha256(), source().ContentHash());
    card.set_channels(shape().channels);
    card.set_height(shape().height);
    card.set_width(shape().width);
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
      GANDEM_ASSIGN_OR_RETURN(PixelImage image, images_->Read(i));
      // from_blob() wants no constness; contiguous() copies, or clone() does.
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
  const ImageStore& source() const { return images_->source(); }

  // Never change after construction.
  const std::unique_ptr<StoredImages> images_;
  const int64_t num_classes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> OpenFileImages(
    const std::string& path, std::optional<ImageShape> known) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<ImageStore> source, OpenSource(path));
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<StoredImages> images,
                          StoredImages::Open(std::move(source), known));
  return std::make_unique<FileImages>(std::move(images));
}

}  // namespace gandem
