// SPDX-License-Identifier: Apache-2.0
//
// The project's one reader of image files: PNG, JPEG and WebP by their first
// bytes, whatever they are called. docs/data.md has what becomes of odd images.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/decoded_image.h"

namespace gandem {

// 11,585 x 11,585: more than any camera, less than would fill a machine.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 27;

// Treatment of the parts of an image that are not colors.
enum class ImageReading {
  // The image as people see it, for training: alpha as in PutOnBlack
  // (common/files/png.h), turned upright by a JPEG's Exif data.
  kShown,
  // The image as Pillow's Image.open(file).convert("RGB") gives it, which the
  // programs that compute metrics use: alpha is dropped, nothing is turned.
  // Pillow cuts gray of 16 bits at 255, which makes nearly everything white:
  // such images are refused.
  kPlain,
};

// Gray or RGB of 8 bits.
//   DATA_LOSS         empty, damaged, cut off, or no image at all.
//   INVALID_ARGUMENT  another format, which it names; animated WebP; more than
//                     `max_pixels`; gray of 16 bits where it is to be kPlain.
absl::StatusOr<DecodedImage> DecodeImage(
    absl::string_view bytes, int64_t max_pixels = kMaxImagePixels,
    ImageReading reading = ImageReading::kShown);

// The shape of what DecodeImage makes of these bytes, kPlain, by their headers
// alone.
//   DATA_LOSS  no image, or damaged at its begin.
absl::StatusOr<ImageShape> ShapeOfImage(absl::string_view bytes);

// How the name of a file with these bytes ends, by the first of them: ".png",
// ".jpg" or ".webp"; "": DecodeImage refuses it.
absl::string_view ImageEnding(absl::string_view bytes);

// Whether a file of this name is an image that DecodeImage reads.
bool IsImageName(absl::string_view name);

// Whether it is an image of a format that is not read: .gif, .heic ...
bool IsOtherImageName(absl::string_view name);

}  // namespace gandem
