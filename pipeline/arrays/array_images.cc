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
#include "pipeline/remote/open_file.h"

namespace gandem {
namespace {

// Bytes per read when all images are hashed.
constexpr int64_t kHashedPiece = int64_t{1} << 22;

class ArrayImages : public ImageStore {
 public:
  ArrayImages(SourceInfo info, ArrayContents contents)
      : ImageStore(std::move(info)), contents_(std::move(contents)) {}

  std::string NameOf(int64_t index) const override {
    return absl::StrCat(contents_.path, ": image ", index);
  }

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
    if (!contents_.file.empty()) return HashOfFile(contents_.file);
    Sha256 hash;
    hash.Update(
        absl::StrCat(size(), " images ", ShapeText(contents_.shape), " "));
    for (const ArrayPart& part : contents_.parts) {
      GANDEM_RETURN_IF_ERROR(HashPart(part, hash));
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
    GANDEM_CHECK(index >= 0 && index < size());
    const ArrayPart* part = contents_.parts.data();
    for (; index >= part->images; ++part) index -= part->images;
    return {.part = part, .offset = part->offset + index * part->stride};
  }

  absl::string_view InMemory(const ArrayPart& part, int64_t offset) const {
    return {reinterpret_cast<const char*>(part.memory.data()) + offset,
            static_cast<size_t>(contents_.shape.NumValues())};
  }

  // Returns the pixels with interleaved channels.
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

  absl::Status HashPart(const ArrayPart& part, Sha256& hash) const {
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
        const std::vector<uint8_t> pixels = PixelsOf(stored);
        hash.Update(std::as_bytes(std::span(pixels)));
      }
    }
    return absl::OkStatus();
  }

  const ArrayContents contents_;  // never changes after construction
};

}  // namespace

std::unique_ptr<ImageStore> ImagesOfArray(ArrayContents contents) {
  GANDEM_CHECK(!contents.parts.empty());
  SourceInfo info = {.kind = contents.kind,
                     .common_shape = contents.shape,
                     .labels = {contents.labels.begin(), contents.labels.end()},
                     .class_names = contents.class_names,
                     .unused_labels = contents.unused_labels};
  for (const ArrayPart& part : contents.parts) info.size += part.images;
  return std::make_unique<ArrayImages>(std::move(info), std::move(contents));
}

}  // namespace gandem
