// SPDX-License-Identifier: Apache-2.0
//
// JPEG files: a full decode by libjpeg-turbo with its exact inverse DCT and
// smooth chroma, which gives Pillow's values. An orientation in Exif data is
// applied if so wished, as by ImageOps.exif_transpose: photos stand upright.
// CMYK is taken for Adobe's inverted kind and becomes RGB as in Pillow; color
// profiles are ignored.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pipeline/decoded_image.h"

namespace gandem {

//   DATA_LOSS         not a JPEG, damaged, or cut off.
//   INVALID_ARGUMENT  more than `max_pixels`; a kind that libjpeg does not read
//                     (12 bits, lossless).
absl::StatusOr<DecodedImage> DecodeJpeg(absl::string_view bytes,
                                        int64_t max_pixels,
                                        bool upright = true);

// Height and width as stored, 1 channel or 3, by the file's headers. DATA_LOSS.
absl::StatusOr<ImageShape> JpegShape(absl::string_view bytes);

// The orientation of an APP1 marker's Exif data, 1 to 8 (Exif 2.3, section
// 4.6.4); 1 where there is none or it is damaged.
int ExifOrientation(absl::string_view marker);

// The image as it is meant to be seen.
PixelImage Upright(PixelImage image, int orientation);

}  // namespace gandem
