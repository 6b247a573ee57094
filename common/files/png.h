// SPDX-License-Identifier: Apache-2.0
//
// 8-bit images, gray or RGB, as PNG; and grids of small float images.
//
// Owner: values; copy or move freely.
// Thread safety: pure functions; files race as the operating system lets them.
// Errors: those of common/files/file.h, DATA_LOSS for bytes that are not a PNG.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/image_shape.h"

namespace gandem {

struct PixelImage {
  int64_t channels = 1;  // 1 gray, 3 RGB
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> pixels = {};  // height x width x channels

  bool operator==(const PixelImage&) const = default;
};

// [-1, 1] to [0, 255]: (x + 1) / 2 * 255 + 0.5, clamped, truncated (models.md
// 6.4). NaN becomes 0.
uint8_t QuantizePixel(float value);

// The images of `images_NCHW`, of `shape`, in a grid of `columns` (0:
// near-square), row by row, 2 white pixels apart. Of more than 3 channels the
// first three are shown, of 2 the first.
PixelImage TileImages(std::span<const float> images_NCHW, ImageShape shape,
                      int64_t columns = 0);

absl::StatusOr<std::string> EncodePng(const PixelImage& image);

// Creates or replaces `path`; readers see the old or the new file.
absl::Status WritePng(const std::string& path, const PixelImage& image);

// Values that a byte of a PNG can stand for: deflate cannot shrink by more than
// 1032 (zlib's FAQ), and a bit of it may be a pixel of three.
inline constexpr int64_t kMaxPngExpansion = int64_t{1032} * 8 * 3;

// Treatment of alpha: PutOnBlack or DropAlpha.
enum class AlphaRule { kOnBlack, kDropped };

// The stored values as 8 bits, RGB unless the file is gray: of 16 bits the high
// byte, of a palette its colors. What says how to show them (gAMA, iCCP, sRGB)
// and the chunk tRNS are ignored, as by Pillow's convert("RGB"). A file may end
// before its chunk IEND.
absl::StatusOr<PixelImage> DecodePng(absl::string_view bytes,
                                     AlphaRule alpha = AlphaRule::kOnBlack);

// Images of 2 or 4 channels, the last being alpha, lose it: a value v becomes
// v * alpha / 255, rounded. Others stay.
void PutOnBlack(PixelImage& image);
// They lose it, and their values stay: Pillow's convert("RGB").
void DropAlpha(PixelImage& image);

}  // namespace gandem
