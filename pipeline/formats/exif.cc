// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/strip.h"
#include "common/check.h"
#include "pipeline/formats/jpeg.h"

namespace gandem {
namespace {

constexpr uint64_t kOrientationTag = 0x0112;
constexpr size_t kExifEntryBytes = 12;

// TIFF's numbers, in the byte order that its header names.
class TiffNumbers {
 public:
  explicit TiffNumbers(absl::string_view tiff) : tiff_(tiff) {}

  bool StartsWell() const {
    return tiff_.size() >= 8 && (little() || tiff_.substr(0, 2) == "MM");
  }
  std::optional<uint64_t> At(uint64_t offset, size_t size) const {
    if (offset > tiff_.size() || size > tiff_.size() - offset) {
      return std::nullopt;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t at = offset + (little() ? size - 1 - i : i);
      value = value << 8 | static_cast<unsigned char>(tiff_[at]);
    }
    return value;
  }

 private:
  bool little() const { return tiff_.substr(0, 2) == "II"; }

  absl::string_view tiff_;
};

}  // namespace

int ExifOrientation(absl::string_view marker) {
  if (!absl::ConsumePrefix(&marker, absl::string_view("Exif\0\0", 6))) return 1;
  const TiffNumbers tiff(marker);
  if (!tiff.StartsWell()) return 1;
  const auto directory = tiff.At(4, 4);
  const auto count = tiff.At(*directory, 2);
  for (uint64_t i = 0; i < count.value_or(0); ++i) {
    const uint64_t entry = *directory + 2 + i * kExifEntryBytes;
    const auto tag = tiff.At(entry, 2);
    const auto value = tiff.At(entry + 8, 2);  // of type SHORT
    if (!tag.has_value() || !value.has_value()) return 1;
    if (*tag != kOrientationTag) continue;
    return *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
  }
  return 1;
}

PixelImage Upright(PixelImage image, int orientation) {
  GANDEM_CHECK(orientation >= 1 && orientation <= 8);
  if (orientation == 1) return image;
  // Which way row 0 and column 0 of the stored image lie: Exif's table.
  const bool turned = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 ||
                          orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 ||
                           orientation == 6 || orientation == 7;
  PixelImage upright = {.channels = image.channels,
                        .height = turned ? image.width : image.height,
                        .width = turned ? image.height : image.width};
  upright.pixels.reserve(image.pixels.size());
  for (int64_t y = 0; y < upright.height; ++y) {
    for (int64_t x = 0; x < upright.width; ++x) {
      int64_t row = turned ? x : y;
      int64_t column = turned ? y : x;
      if (from_bottom) row = image.height - 1 - row;
      if (from_right) column = image.width - 1 - column;
      const uint8_t* pixel =
          image.pixels.data() + (row * image.width + column) * image.channels;
      upright.pixels.insert(upright.pixels.end(), pixel,
                            pixel + image.channels);
    }
  }
  return upright;
}

}  // namespace gandem
