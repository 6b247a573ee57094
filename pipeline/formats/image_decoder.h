// SPDX-License-Identifier: Apache-2.0
//
// The only decoder of image files: PNG, JPEG and WebP, detected by the first
// bytes. docs/data.md describes the treatment of unusual images.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/decoded_image.h"

namespace gandem {

// 11,585 x 11,585: larger than any camera's, smaller than would fill memory.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 27;

// Treatment of alpha and orientation.
enum class ImageReading {
  // As people see the image, for training: alpha as in PutOnBlack
  // (common/files/png.h), turned upright by a JPEG's Exif data.
  kShown,
  // As Pillow's Image.open(file).convert("RGB"), which metric programs use:
  // alpha is dropped, nothing is turned. Pillow clips 16-bit gray at 255, which
  // makes nearly everything white: such images are rejected.
  kPlain,
};

// Decodes to 8-bit gray or RGB.
//   DATA_LOSS         empty, damaged, truncated, or not an image.
//   INVALID_ARGUMENT  an unsupported format (named), animated WebP, more than
//                     `max_pixels`, or 16-bit gray with kPlain.
absl::StatusOr<DecodedImage> DecodeImage(
    absl::string_view bytes, int64_t max_pixels = kMaxImagePixels,
    ImageReading reading = ImageReading::kShown);

// Returns the shape of DecodeImage's result with kPlain. Reads only headers.
//   DATA_LOSS  not an image, or a damaged header.
absl::StatusOr<ImageShape> ShapeOfImage(absl::string_view bytes);

// Returns the file name ending for `bytes`: ".png", ".jpg" or ".webp"; "" if
// DecodeImage does not support the format.
absl::string_view ImageEnding(absl::string_view bytes);

// Returns whether the name is that of a supported image format.
bool IsImageName(absl::string_view name);

// Returns whether the name is that of an unsupported image format (.gif).
bool IsOtherImageName(absl::string_view name);

}  // namespace gandem
