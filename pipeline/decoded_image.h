// SPDX-License-Identifier: Apache-2.0
//
// An image of 8-bit values, with a description of how it was stored.
//
// Owner: values; copy or move freely. Thread safety: pure functions.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/files/png.h"
#include "common/image_shape.h"

namespace gandem {

// Storage format of an image. The texts are constants of the program.
struct ImageKind {
  absl::string_view format = "";  // "JPEG"
  absl::string_view color = "";   // "gray", "RGB", "palette", "RGBA" ...
  int bits = 8;                   // per value
  bool turned = false;            // rotated upright, according to its Exif data

  bool operator==(const ImageKind&) const = default;
};

// Formats "JPEG, RGB", "JPEG, RGB, turned" or "PNG, gray, 16 bits".
inline std::string KindText(const ImageKind& kind) {
  std::string text = absl::StrCat(kind.format, ", ", kind.color);
  if (kind.bits != 8) absl::StrAppend(&text, ", ", kind.bits, " bits");
  if (kind.turned) absl::StrAppend(&text, ", turned");
  return text;
}

struct DecodedImage {
  PixelImage pixels;  // gray or RGB
  ImageKind kind = {};
};

inline ImageShape ShapeOf(const PixelImage& image) {
  return {
      .channels = image.channels, .height = image.height, .width = image.width};
}

// Formats "4 x 28 x 28", channels first.
inline std::string TensorShapeText(const ImageShape& shape) {
  return absl::StrCat(shape.channels, " x ", shape.height, " x ", shape.width);
}

// Formats "28 x 28 gray".
inline std::string ShapeText(const ImageShape& shape) {
  return absl::StrCat(shape.height, " x ", shape.width,
                      shape.channels == 1 ? " gray" : " RGB");
}

}  // namespace gandem
