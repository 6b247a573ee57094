// SPDX-License-Identifier: Apache-2.0
#include "evaluation/images/image_set.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/png.h"
#include "common/status.h"
#include "evaluation/images/dataset_images.h"
#include "evaluation/images/derived_images.h"
#include "evaluation/images/file_images.h"
#include "evaluation/images/generated_images.h"
#include "models/torch.h"
#include "training/state/catch_torch.h"

namespace gandem {

namespace {

absl::Status CheckImageRange(IndexRange range, int64_t size) {
  if (range.first >= 0 && range.count >= 1 && range.count <= size &&
      range.first <= size - range.count) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat("images [", range.first, ", ", range.end(), ") of ", size));
}

}  // namespace

absl::StatusOr<at::Tensor> ImageSet::Read(IndexRange range) {
  GANDEM_RETURN_IF_ERROR(CheckImageRange(range, size()));
  if (shape().height == 0) {
    return absl::InvalidArgumentError(
        "the images are of several sizes, but one size is needed: --resize "
        "gives them the size of the reference's images");
  }
  return CatchTorchOr([&] {
    const torch::NoGradGuard no_grad;
    return ReadImages(range);
  });
}

absl::StatusOr<std::vector<at::Tensor>> ImageSet::ReadEach(IndexRange range) {
  GANDEM_RETURN_IF_ERROR(CheckImageRange(range, size()));
  return CatchTorchOr([&] {
    const torch::NoGradGuard no_grad;
    return ReadEachImage(range);
  });
}

absl::StatusOr<std::vector<at::Tensor>> ImageSet::ReadEachImage(
    IndexRange range) {
  GANDEM_ASSIGN_OR_RETURN(const at::Tensor images_NCHW, ReadImages(range));
  return images_NCHW.split(1);
}

absl::StatusOr<at::Tensor> ImageSet::ReadOneByOne(IndexRange range) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<at::Tensor> images,
                          ReadEachImage(range));
  return at::cat(images);
}

std::string ImageSet::NameOf(int64_t index) const {
  return absl::StrCat("image ", index);
}

at::Tensor QuantizeImages(const at::Tensor& images_NCHW) {
  const at::Tensor values_NCHW =
      images_NCHW.to(at::kCPU, at::kFloat).contiguous();
  at::Tensor bytes_NCHW = torch::empty(values_NCHW.sizes(), torch::kByte);
  const float* const values = values_NCHW.const_data_ptr<float>();
  uint8_t* const bytes = bytes_NCHW.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < values_NCHW.numel(); ++i) {
    bytes[i] = QuantizePixel(values[i]);
  }
  return bytes_NCHW;
}

namespace {

std::optional<ImageShape> FilesShape(const ImagesSpec& spec) {
  if (!spec.has_files_shape()) return std::nullopt;
  return ImageShape{.channels = spec.files_shape().channels(),
                    .height = spec.files_shape().height(),
                    .width = spec.files_shape().width()};
}

absl::StatusOr<std::unique_ptr<ImageSet>> OpenInStoredSize(
    const ImagesSpec& spec) {
  switch (spec.kind_case()) {
    case ImagesSpec::kGenerated:
      return OpenGeneratedImages(spec.generated());
    case ImagesSpec::kDataset:
      return OpenDatasetImages(spec.dataset());
    case ImagesSpec::kFiles:
      return OpenFileImages(spec.files(), FilesShape(spec));
    case ImagesSpec::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the images' spec has no kind");
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSet>> OpenImageSet(const ImagesSpec& spec) {
  GANDEM_ASSIGN_OR_RETURN(std::unique_ptr<ImageSet> images,
                          OpenInStoredSize(spec));
  if (spec.has_subset()) {
    GANDEM_ASSIGN_OR_RETURN(images, SubsetOf(std::move(images), spec.subset()));
  }
  if (spec.has_resize()) {
    GANDEM_ASSIGN_OR_RETURN(images,
                            ResizeImages(std::move(images), spec.resize()));
  }
  if (!spec.pairs()) return images;
  return PairsOf(std::move(images));
}

}  // namespace gandem
