// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/image_decoder.h"

#include <webp/decode.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "pipeline/formats/jpeg.h"

namespace gandem {
namespace {

constexpr absl::string_view kPngStart = "\x89PNG\r\n\x1a\n";

constexpr absl::string_view kImageNames[] = {".apng", ".jfif", ".jpe", ".jpeg",
                                             ".jpg",  ".png",  ".webp"};
constexpr absl::string_view kOtherImageNames[] = {
    ".avif", ".bmp", ".gif", ".heic", ".heif", ".jp2",
    ".jxl",  ".pgm", ".ppm", ".tif",  ".tiff"};

// First bytes of unsupported formats, for messages.
struct OtherFormat {
  absl::string_view start;
  absl::string_view name;
};
constexpr OtherFormat kOtherFormats[] = {
    {"GIF8", "a GIF"}, {"BM", "a BMP"},     {"II*", "a TIFF"},
    {"MM", "a TIFF"},  {"P5", "a PGM"},     {"P6", "a PPM"},
    {"%PDF", "a PDF"}, {"PK\3\4", "a zip"}, {"\x1f\x8b", "gzip"}};

template <size_t size>
bool EndsWithOneOf(absl::string_view name,
                   const absl::string_view (&endings)[size]) {
  return std::ranges::any_of(endings, [&](absl::string_view ending) {
    return absl::EndsWithIgnoreCase(name, ending);
  });
}

struct PngHeader {
  int64_t width = 0;
  int64_t height = 0;
  int depth = 0;  // bits per value
  int type = 0;   // color type
};

// Parses signature, length, "IHDR", width, height, depth and color type (PNG
// specification, section 11.2.2).
absl::StatusOr<PngHeader> ReadPngHeader(absl::string_view bytes) {
  if (bytes.size() < 26) {
    return absl::DataLossError("damaged PNG: it ends too early");
  }
  const auto number = [&](size_t at) {
    int64_t value = 0;
    for (size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
  };
  return PngHeader{.width = number(16),
                   .height = number(20),
                   .depth = static_cast<unsigned char>(bytes[24]),
                   .type = static_cast<unsigned char>(bytes[25])};
}

absl::StatusOr<DecodedImage> DecodePngFile(absl::string_view bytes,
                                           int64_t max_pixels,
                                           ImageReading reading) {
  GANDEM_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(bytes));
  const auto [width, height, depth, type] = header;
  if (height > 0 && width > max_pixels / height) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a PNG of ", height, " x ", width, " pixels, more than ", max_pixels));
  }
  DecodedImage image;
  if (reading == ImageReading::kPlain && type == 0 && depth == 16) {
    return absl::InvalidArgumentError(
        "gray of 16 bits, which Pillow's convert(\"RGB\") cuts at 255, so that "
        "programs that use it judge white images: convert it to 8 bits");
  }
  GANDEM_ASSIGN_OR_RETURN(
      image.pixels,
      DecodePng(bytes, reading == ImageReading::kPlain ? AlphaRule::kDropped
                                                       : AlphaRule::kOnBlack));
  image.kind = {.format = "PNG",
                .color = type == 0   ? "gray"
                         : type == 2 ? "RGB"
                         : type == 3 ? "palette"
                         : type == 4 ? "gray with alpha"
                                     : "RGBA",
                // The bits of palette indices say nothing about colors.
                .bits = type == 3 ? 8 : depth};
  return image;
}

absl::StatusOr<DecodedImage> DecodeWebp(absl::string_view bytes,
                                        int64_t max_pixels,
                                        ImageReading reading) {
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) {
    return absl::DataLossError("damaged WebP: its header cannot be read");
  }
  if (features.has_animation != 0) {
    return absl::InvalidArgumentError(
        "an animated WebP, and one picture is expected: take a frame of it");
  }
  const int64_t height = features.height;
  const int64_t width = features.width;
  if (height * width > max_pixels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a WebP of ", height, " x ", width, " pixels, more than ", max_pixels));
  }
  const bool alpha = features.has_alpha != 0;
  DecodedImage image = {
      .pixels = {.channels = alpha ? 4 : 3, .height = height, .width = width},
      .kind = {.format = "WebP", .color = alpha ? "RGBA" : "RGB"}};
  auto& pixels = image.pixels.pixels;
  pixels.resize(static_cast<size_t>(height * width * image.pixels.channels));
  const auto stride = static_cast<int>(width * image.pixels.channels);
  const auto decode = alpha ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data, bytes.size(), pixels.data(), pixels.size(), stride) ==
      nullptr) {
    return absl::DataLossError("damaged WebP: it is cut off or corrupt");
  }
  reading == ImageReading::kPlain ? DropAlpha(image.pixels)
                                  : PutOnBlack(image.pixels);
  return image;
}

absl::Status NoImage(absl::string_view bytes) {
  if (bytes.empty()) return absl::DataLossError("it has no bytes");
  for (const OtherFormat& format : kOtherFormats) {
    if (!absl::StartsWith(bytes, format.start)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("it is ", format.name,
                     ": convert it to PNG, JPEG or WebP, or remove it"));
  }
  const std::string start = absl::AsciiStrToLower(
      bytes.substr(0, std::min<size_t>(64, bytes.size())));
  if (absl::StrContains(start, "<html") ||
      absl::StrContains(start, "<!doctype")) {
    return absl::DataLossError(
        "it is a web page, not an image: it was not downloaded as it should");
  }
  return absl::DataLossError("it is no PNG, JPEG or WebP");
}

}  // namespace

absl::StatusOr<DecodedImage> DecodeImage(absl::string_view bytes,
                                         int64_t max_pixels,
                                         ImageReading reading) {
  const absl::string_view ending = ImageEnding(bytes);
  if (ending == ".png") return DecodePngFile(bytes, max_pixels, reading);
  if (ending == ".jpg") {
    return DecodeJpeg(bytes, max_pixels, reading == ImageReading::kShown);
  }
  if (ending == ".webp") return DecodeWebp(bytes, max_pixels, reading);
  return NoImage(bytes);
}

absl::StatusOr<ImageShape> ShapeOfImage(absl::string_view bytes) {
  const absl::string_view ending = ImageEnding(bytes);
  if (ending == ".jpg") return JpegShape(bytes);
  if (ending == ".png") {
    GANDEM_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(bytes));
    const bool gray = header.type == 0 || header.type == 4;
    return ImageShape{.channels = gray ? 1 : 3,
                      .height = header.height,
                      .width = header.width};
  }
  if (ending != ".webp") return NoImage(bytes);
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(reinterpret_cast<const uint8_t*>(bytes.data()),
                      bytes.size(), &features) != VP8_STATUS_OK) {
    return absl::DataLossError("damaged WebP: its header cannot be read");
  }
  return ImageShape{
      .channels = 3, .height = features.height, .width = features.width};
}

absl::string_view ImageEnding(absl::string_view bytes) {
  if (absl::StartsWith(bytes, kPngStart)) return ".png";
  if (absl::StartsWith(bytes, "\xff\xd8")) return ".jpg";
  if (absl::StartsWith(bytes, "RIFF") && bytes.size() >= 12 &&
      bytes.substr(8, 4) == "WEBP") {
    return ".webp";
  }
  return "";
}

bool IsImageName(absl::string_view name) {
  return EndsWithOneOf(name, kImageNames);
}

bool IsOtherImageName(absl::string_view name) {
  return EndsWithOneOf(name, kOtherImageNames);
}

}  // namespace gandem
