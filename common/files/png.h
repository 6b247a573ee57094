// SPDX-License-Identifier: Apache-2.0
//
// Encodes and decodes 8-bit gray or RGB images as PNG, and tiles float images.
//
// Owner: values; copy or move freely.
// Thread safety: pure functions; access to one file is not synchronized.
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

// Maps [-1, 1] to [0, 255]: (x + 1) / 2 * 255 + 0.5, clamped and truncated
// (models.md 6.4). NaN becomes 0.
uint8_t QuantizePixel(float value);

// Arranges the images in a grid of `columns` (0: near-square), row by row, 2
// white pixels apart. Shows the first three channels of an image with more than
// three, and the first channel of an image with two.
PixelImage TileImages(std::span<const float> images_NCHW, ImageShape shape,
                      int64_t columns = 0);

absl::StatusOr<std::string> EncodePng(const PixelImage& image);

// Creates or replaces `path` atomically.
absl::Status WritePng(const std::string& path, const PixelImage& image);

// Upper bound of pixel values per byte of a PNG: deflate compresses by at most
// 1032 (zlib's FAQ), and one bit may be a pixel of three values.
inline constexpr int64_t kMaxPngExpansion = int64_t{1032} * 8 * 3;

// Treatment of alpha: PutOnBlack or DropAlpha.
enum class AlphaRule { kOnBlack, kDropped };

// Returns 8-bit values, RGB unless the file is gray. Keeps the high byte of
// 16-bit values and expands palettes. Ignores color management (gAMA, iCCP,
// sRGB) and the chunk tRNS, like Pillow's convert("RGB"). The chunk IEND may be
// missing.
absl::StatusOr<PixelImage> DecodePng(absl::string_view bytes,
                                     AlphaRule alpha = AlphaRule::kOnBlack);

// Composites images with alpha (2 or 4 channels) onto black: a value v becomes
// v * alpha / 255, rounded. Other images stay unchanged.
void PutOnBlack(PixelImage& image);
// Removes the alpha channel and keeps the values, like Pillow's convert("RGB").
void DropAlpha(PixelImage& image);

}  // namespace gandem
