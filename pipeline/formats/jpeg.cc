// SPDX-License-Identifier: Apache-2.0
#include "pipeline/formats/jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

// Must follow <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/check.h"

namespace gandem {
namespace {

// Pixels per byte: 64 values take at least a bit, a chroma value 16 pixels.
constexpr int64_t kMaxJpegExpansion = 8 * 64 * 16;

constexpr uint64_t kOrientationTag = 0x0112;
constexpr size_t kExifEntryBytes = 12;

// Numbers of a TIFF, in the byte order given by its header.
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

// libjpeg's error manager with a longjmp target.
struct JpegErrors {
  jpeg_error_mgr manager = {};  // must be first: libjpeg passes a pointer to it
  std::jmp_buf back = {};
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void EndJpegWithError(j_common_ptr jpeg) {
  auto* const errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->manager.format_message(jpeg, errors->message);
  std::longjmp(errors->back, 1);
}

// Makes warnings about missing pixels errors: libjpeg would paint them gray.
void JudgeJpegMessage(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // no warning
  const int code = jpeg->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER) EndJpegWithError(jpeg);
}

jpeg_error_mgr* Listening(JpegErrors& errors) {
  jpeg_error_mgr* const manager = jpeg_std_error(&errors.manager);
  manager->error_exit = EndJpegWithError;
  manager->emit_message = JudgeJpegMessage;
  return manager;
}

// These three return false by longjmp on errors, so must not own anything.
bool BeginJpeg(jpeg_decompress_struct* jpeg, JpegErrors* errors,
               absl::string_view bytes) {
  if (setjmp(errors->back) != 0) return false;
  jpeg_create_decompress(jpeg);
  jpeg_mem_src(jpeg, reinterpret_cast<const unsigned char*>(bytes.data()),
               bytes.size());
  jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(jpeg, TRUE);
  return true;
}

bool StartJpeg(jpeg_decompress_struct* jpeg, JpegErrors* errors) {
  if (setjmp(errors->back) != 0) return false;
  switch (jpeg->jpeg_color_space) {
    case JCS_GRAYSCALE:
      jpeg->out_color_space = JCS_GRAYSCALE;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      jpeg->out_color_space = JCS_CMYK;
      break;
    default:
      jpeg->out_color_space = JCS_RGB;
  }
  jpeg->dct_method = JDCT_ISLOW;
  jpeg->do_fancy_upsampling = TRUE;
  jpeg_start_decompress(jpeg);
  return true;
}

bool ReadJpegRows(jpeg_decompress_struct* jpeg, JpegErrors* errors,
                  uint8_t* pixels) {
  if (setjmp(errors->back) != 0) return false;
  const size_t row_bytes =
      size_t{jpeg->output_width} * static_cast<size_t>(jpeg->output_components);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = pixels + jpeg->output_scanline * row_bytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
  return true;
}

// Returns a * b / 255, rounded.
int TimesPart(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

// Converts Adobe's CMYK, in which 255 means no ink.
void CmykToRgb(PixelImage& image) {
  const uint8_t* from = image.pixels.data();
  uint8_t* to = image.pixels.data();
  for (int64_t i = 0; i < image.height * image.width; ++i, from += 4) {
    const int light = from[3];
    for (int c = 0; c < 3; ++c) {
      const int ink = 255 - from[c];
      *to++ = static_cast<uint8_t>(
          std::clamp(light - TimesPart(ink, light), 0, 255));
    }
  }
  image.channels = 3;
  image.pixels.resize(static_cast<size_t>(image.height * image.width * 3));
}

absl::Status BadJpeg(const JpegErrors& errors) {
  return absl::DataLossError(absl::StrCat("damaged JPEG: ", errors.message));
}

absl::Status CheckJpegSize(const jpeg_decompress_struct& jpeg,
                           size_t file_bytes, int64_t max_pixels) {
  const int64_t pixels = int64_t{jpeg.image_height} * jpeg.image_width;
  const std::string size =
      absl::StrCat(jpeg.image_height, " x ", jpeg.image_width, " pixels");
  if (pixels > max_pixels) {
    return absl::InvalidArgumentError(
        absl::StrCat("a JPEG of ", size, ", more than ", max_pixels));
  }
  if (pixels > kMaxJpegExpansion * static_cast<int64_t>(file_bytes)) {
    return absl::DataLossError(absl::StrCat("damaged JPEG: ", file_bytes,
                                            " bytes cannot hold ", size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DecodedImage> DecodeJpeg(absl::string_view bytes,
                                        int64_t max_pixels, bool upright) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = Listening(errors);
  const absl::Cleanup free_jpeg = [&jpeg] { jpeg_destroy_decompress(&jpeg); };
  if (!BeginJpeg(&jpeg, &errors, bytes)) return BadJpeg(errors);
  const absl::Status size = CheckJpegSize(jpeg, bytes.size(), max_pixels);
  if (!size.ok()) return size;
  int orientation = 1;
  for (const auto* marker = jpeg.marker_list; marker != nullptr;
       marker = marker->next) {
    const int found = ExifOrientation(absl::string_view(
        reinterpret_cast<const char*>(marker->data), marker->data_length));
    if (orientation == 1) orientation = found;
  }
  if (!StartJpeg(&jpeg, &errors)) return BadJpeg(errors);
  DecodedImage image = {.pixels = {.channels = jpeg.output_components,
                                   .height = jpeg.output_height,
                                   .width = jpeg.output_width},
                        .kind = {.format = "JPEG", .color = "RGB"}};
  image.pixels.pixels.resize(static_cast<size_t>(
      image.pixels.channels * image.pixels.height * image.pixels.width));
  if (!ReadJpegRows(&jpeg, &errors, image.pixels.pixels.data())) {
    return BadJpeg(errors);
  }
  if (image.pixels.channels == 1) image.kind.color = "gray";
  if (image.pixels.channels == 4) {
    image.kind.color = "CMYK";
    CmykToRgb(image.pixels);
  }
  image.kind.turned = orientation != 1;
  if (upright) image.pixels = Upright(std::move(image.pixels), orientation);
  return image;
}

absl::StatusOr<ImageShape> JpegShape(absl::string_view bytes) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = Listening(errors);
  const absl::Cleanup free_jpeg = [&jpeg] { jpeg_destroy_decompress(&jpeg); };
  if (!BeginJpeg(&jpeg, &errors, bytes)) return BadJpeg(errors);
  return ImageShape{.channels = jpeg.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3,
                    .height = jpeg.image_height,
                    .width = jpeg.image_width};
}

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
  // Exif's table: directions of row 0 and column 0 of the stored image.
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
