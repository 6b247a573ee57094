// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sources/memory_images.h"

#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

class MemoryImages : public ImageStore {
 public:
  explicit MemoryImages(MemoryContents contents)
      : contents_(std::move(contents)),
        size_(std::ssize(contents_.pixels) / contents_.shape.NumValues()) {}

  std::string kind() const override { return contents_.kind; }
  int64_t size() const override { return size_; }
  std::optional<ImageShape> common_shape() const override {
    return contents_.shape;
  }
  std::string NameOf(int64_t index) const override {
    return absl::StrCat(contents_.path, ": image ", index);
  }
  int64_t LabelOf(int64_t index) const override {
    return contents_.labels.empty() ? kNoLabel
                                    : int64_t{contents_.labels[index]};
  }
  const std::vector<std::string>& class_names() const override {
    return contents_.class_names;
  }

  absl::StatusOr<std::string> Fetch(int64_t /*index*/) const override {
    return "";
  }
  absl::StatusOr<DecodedImage> Decode(
      int64_t index, absl::string_view /*stored*/) const override {
    GANDEM_CHECK(index >= 0 && index < size_);
    const ImageShape& shape = contents_.shape;
    const auto first = contents_.pixels.begin() + index * shape.NumValues();
    return DecodedImage{
        .pixels = {.channels = shape.channels,
                   .height = shape.height,
                   .width = shape.width,
                   .pixels =
                       std::vector<uint8_t>(first, first + shape.NumValues())},
        .kind = {.format = contents_.format,
                 .color = shape.channels == 1 ? "gray" : "RGB"}};
  }

  absl::StatusOr<std::string> ContentHash() const override {
    return contents_.file.empty() ? Fingerprint() : HashOfFile(contents_.file);
  }
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    hash.Update(
        absl::StrCat(size_, " images ", ShapeText(contents_.shape), " "));
    hash.Update(std::as_bytes(std::span(contents_.pixels)));
    hash.Update(std::as_bytes(std::span(contents_.labels)));
    return hash.Finish();
  }

 private:
  // Never change after construction.
  const MemoryContents contents_;
  const int64_t size_;
};

}  // namespace

std::unique_ptr<ImageStore> ImagesInMemory(MemoryContents contents) {
  GANDEM_CHECK(!contents.pixels.empty());
  return std::make_unique<MemoryImages>(std::move(contents));
}

}  // namespace gandem
