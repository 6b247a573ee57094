// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/eight_bit_png.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace gandem {

absl::StatusOr<PixelImage> DecodeEightBitPng(absl::string_view bytes,
                                             absl::string_view name) {
  // PNG specification, sections 5.2 and 11.2.2: signature, length, "IHDR",
  // width, height, bit depth, color type.
  constexpr absl::string_view kSignature = "\x89PNG\r\n\x1a\n";
  constexpr size_t kDepth = 24;
  constexpr size_t kColorType = 25;
  if (!absl::StartsWith(bytes, kSignature) || bytes.size() <= kColorType) {
    return absl::DataLossError(absl::StrCat("'", name, "' is not a PNG"));
  }
  const int depth = static_cast<unsigned char>(bytes[kDepth]);
  const int type = static_cast<unsigned char>(bytes[kColorType]);
  if (depth != 8 || (type != 0 && type != 2)) {
    const absl::string_view color = type == 0   ? "gray"
                                    : type == 2 ? "RGB"
                                    : type == 3 ? "palette"
                                    : type == 4 ? "gray with alpha"
                                                : "RGB with alpha";
    return absl::InvalidArgumentError(absl::StrCat(
        "'", name, "' is a PNG of ", depth, " bits, ", color,
        "; metrics are defined for 8-bit RGB (or gray) images: convert all of "
        "them"));
  }
  absl::StatusOr<PixelImage> image = DecodePng(bytes);
  if (!image.ok()) {
    return Annotate(image.status(), absl::StrCat("'", name, "'"));
  }
  return image;
}

}  // namespace gandem
