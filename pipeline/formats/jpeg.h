// SPDX-License-Identifier: Apache-2.0
//
// Decodes JPEG files with libjpeg-turbo's exact inverse DCT and smooth chroma,
// which yields Pillow's values. Optionally applies the Exif orientation, as
// ImageOps.exif_transpose. Treats CMYK as Adobe's inverted variant and converts
// it to RGB as Pillow does. Ignores color profiles.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/decoded_image.h"

namespace gandem {

//   DATA_LOSS         not a JPEG, damaged, or truncated.
//   INVALID_ARGUMENT  more than `max_pixels`, or a kind that libjpeg does not
//                     read (12 bits, lossless).
absl::StatusOr<DecodedImage> DecodeJpeg(absl::string_view bytes,
                                        int64_t max_pixels,
                                        bool upright = true);

// Reads stored height and width, and 1 or 3 channels, from the headers. Returns
// DATA_LOSS if they are damaged.
absl::StatusOr<ImageShape> JpegShape(absl::string_view bytes);

// Returns the orientation in an APP1 marker's Exif data, 1 to 8 (Exif 2.3,
// section 4.6.4); 1 if there is none or it is damaged.
int ExifOrientation(absl::string_view marker);

// Turns an image upright.
PixelImage Upright(PixelImage image, int orientation);

}  // namespace gandem
