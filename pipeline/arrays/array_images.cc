// SPDX-License-Identifier: Apache-2.0
#include "pipeline/arrays/array_images.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/sha256.h"
#include "common/status.h"
#include "pipeline/formats/zip_format.h"
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

// Bytes that are read at a time where all images are hashed.
constexpr int64_t kHashedPiece = int64_t{1} << 22;

class ArrayImages : public ImageStore {
 public:
  explicit ArrayImages(ArrayContents contents)
      : contents_(std::move(contents)) {
    for (const ArrayPart& part : contents_.parts) size_ += part.images;
  }

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
  std::string unused_labels() const override { return contents_.unused_labels; }

  absl::StatusOr<std::string> Fetch(int64_t index) const override {
    const Place place = PlaceOf(index);
    if (place.part->file == nullptr) return "";
    return place.part->file->Read(place.offset, contents_.shape.NumValues());
  }
  absl::StatusOr<DecodedImage> Decode(int64_t index,
                                      absl::string_view stored) const override {
    const ImageShape& shape = contents_.shape;
    const Place place = PlaceOf(index);
    if (place.part->file == nullptr) {
      stored = InMemory(*place.part, place.offset);
    }
    GANDEM_CHECK(static_cast<int64_t>(stored.size()) == shape.NumValues());
    return DecodedImage{
        .pixels = {.channels = shape.channels,
                   .height = shape.height,
                   .width = shape.width,
                   .pixels = PixelsOf(stored)},
        .kind = {.format = contents_.format,
                 .color = shape.channels == 1 ? "gray" : "RGB"}};
  }

  absl::StatusOr<std::string> ContentHash() const override {
    if (contents_.checksum.has_value()) {
      GANDEM_RETURN_IF_ERROR(Fingerprint());
    }
    return contents_.file.empty() ? Fingerprint() : HashOfFile(contents_.file);
  }
  absl::StatusOr<std::string> Fingerprint() const override {
    Sha256 hash;
    hash.Update(
        absl::StrCat(size_, " images ", ShapeText(contents_.shape), " "));
    GANDEM_ASSIGN_OR_RETURN(uint32_t crc32, ChecksumOfHeader());
    for (const ArrayPart& part : contents_.parts) {
      GANDEM_RETURN_IF_ERROR(HashPart(part, crc32, hash));
    }
    if (contents_.checksum.has_value() && crc32 != contents_.checksum->crc32) {
      return absl::DataLossError(
          absl::StrCat(contents_.path,
                       ": damaged: the checksum of its images does not fit"));
    }
    hash.Update(std::as_bytes(std::span(contents_.labels)));
    return hash.Finish();
  }

 private:
  struct Place {
    const ArrayPart* part;
    int64_t offset;
  };
  Place PlaceOf(int64_t index) const {
    GANDEM_CHECK(index >= 0 && index < size_);
    const ArrayPart* part = contents_.parts.data();
    for (; index >= part->images; ++part) index -= part->images;
    return {.part = part, .offset = part->offset + index * part->stride};
  }

  absl::string_view InMemory(const ArrayPart& part, int64_t offset) const {
    return {reinterpret_cast<const char*>(part.memory.data()) + offset,
            static_cast<size_t>(contents_.shape.NumValues())};
  }

  // As a decoded image has them: the channels of each pixel side by side.
  std::vector<uint8_t> PixelsOf(absl::string_view stored) const {
    if (!contents_.has_planes) return {stored.begin(), stored.end()};
    const int64_t channels = contents_.shape.channels;
    const int64_t area = contents_.shape.NumValues() / channels;
    std::vector<uint8_t> pixels(stored.size());
    for (int64_t i = 0; i < area; ++i) {
      for (int64_t c = 0; c < channels; ++c) {
        pixels[i * channels + c] = static_cast<uint8_t>(stored[c * area + i]);
      }
    }
    return pixels;
  }

  absl::StatusOr<uint32_t> ChecksumOfHeader() const {
    if (!contents_.checksum.has_value()) return 0;
    const int64_t begin = contents_.checksum->begin;
    const ArrayPart& part = contents_.parts.front();
    GANDEM_ASSIGN_OR_RETURN(const std::string header,
                            part.file->Read(begin, part.offset - begin));
    return zip::Crc32(0, header);
  }

  absl::Status HashPart(const ArrayPart& part, uint32_t& crc32,
                        Sha256& hash) const {
    const int64_t image_bytes = contents_.shape.NumValues();
    const int64_t at_once = std::max<int64_t>(1, kHashedPiece / part.stride);
    for (int64_t first = 0; first < part.images; first += at_once) {
      const int64_t count = std::min(at_once, part.images - first);
      const int64_t offset = part.offset + first * part.stride;
      std::string read;
      if (part.file != nullptr) {
        GANDEM_ASSIGN_OR_RETURN(
            read,
            part.file->Read(offset, (count - 1) * part.stride + image_bytes));
      }
      for (int64_t i = 0; i < count; ++i) {
        const absl::string_view stored =
            part.file == nullptr
                ? InMemory(part, offset + i * part.stride)
                : absl::string_view(read).substr(i * part.stride, image_bytes);
        if (contents_.checksum.has_value()) crc32 = zip::Crc32(crc32, stored);
        const std::vector<uint8_t> pixels = PixelsOf(stored);
        hash.Update(std::as_bytes(std::span(pixels)));
      }
    }
    return absl::OkStatus();
  }

  // Never change after construction.
  const ArrayContents contents_;
  int64_t size_ = 0;
};

}  // namespace

std::unique_ptr<ImageStore> ImagesOfArray(ArrayContents contents) {
  GANDEM_CHECK(!contents.parts.empty());
  return std::make_unique<ArrayImages>(std::move(contents));
}

}  // namespace gandem
