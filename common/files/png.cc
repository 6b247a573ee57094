// SPDX-License-Identifier: Apache-2.0
#include "common/files/png.h"

#include <png.h>

#include <cmath>
#include <csetjmp>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kGap = 2;
constexpr uint8_t kGapValue = 255;
// Size of an empty chunk such as IEND: length, type and checksum.
constexpr size_t kPngChunkBytes = 12;

// Read position of libpng in the bytes, and its error message.
struct PngReading {
  const char* next = nullptr;
  size_t left = 0;
  char message[96] = "";
};

void TakePngBytes(png_structp png, png_bytep out, size_t size) {
  auto* const reading = static_cast<PngReading*>(png_get_io_ptr(png));
  if (size > reading->left) png_error(png, "it ends too early");
  std::memcpy(out, reading->next, size);
  reading->next += size;
  reading->left -= size;
}

[[noreturn]] void EndPngWithError(png_structp png, png_const_charp message) {
  auto* const reading = static_cast<PngReading*>(png_get_error_ptr(png));
  absl::SNPrintF(reading->message, sizeof(reading->message), "%s", message);
  png_longjmp(png, 1);
}

void IgnorePngWarning(png_structp, png_const_charp) {}

// BeginPng and ReadPngRows return false after a longjmp, so they must not own
// anything that needs a destructor.
bool BeginPng(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  // Skips chunks without pixels before libpng allocates their claimed size.
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, info);
  const int type = png_get_color_type(png, info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  // Drops the alpha of a tRNS chunk; a real alpha channel stays.
  if ((type & PNG_COLOR_MASK_ALPHA) == 0) png_set_strip_alpha(png);
  png_set_strip_16(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return true;
}

bool ReadPngRows(png_structp png, png_infop info, const PngReading& reading,
                 uint8_t* pixels, int64_t row_bytes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const bool interlaced =
      png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
  const int passes = interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
  const int64_t height = png_get_image_height(png, info);
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t y = 0; y < height; ++y) {
      png_read_row(png, pixels + y * row_bytes, nullptr);
    }
  }
  // Pillow also accepts files whose IEND is missing or truncated.
  if (reading.left >= kPngChunkBytes) png_read_end(png, nullptr);
  return true;
}

}  // namespace

uint8_t QuantizePixel(float value) {
  const float scaled = (value + 1.0f) / 2.0f * 255.0f + 0.5f;
  if (!(scaled > 0.0f)) return 0;  // NaN too
  return scaled >= 255.0f ? 255 : static_cast<uint8_t>(scaled);
}

PixelImage TileImages(std::span<const float> images_NCHW, ImageShape shape,
                      int64_t columns) {
  const auto [channels, height, width] = shape;
  GANDEM_CHECK(channels >= 1 && height >= 1 && width >= 1);
  const int64_t shown = channels >= 3 ? 3 : 1;
  const int64_t area = height * width;
  const auto num_values = static_cast<int64_t>(images_NCHW.size());
  GANDEM_CHECK(num_values >= 1 && num_values % shape.NumValues() == 0);
  const int64_t num_images = num_values / shape.NumValues();
  if (columns == 0) {
    columns = static_cast<int64_t>(
        std::ceil(std::sqrt(static_cast<double>(num_images))));
  }
  const int64_t rows = (num_images + columns - 1) / columns;
  PixelImage grid = {.channels = shown,
                     .height = rows * (height + kGap) - kGap,
                     .width = columns * (width + kGap) - kGap};
  grid.pixels.assign(grid.height * grid.width * shown, kGapValue);
  for (int64_t i = 0; i < num_values; ++i) {
    const int64_t image = i / shape.NumValues();
    const int64_t channel = i / area % channels;
    if (channel >= shown) continue;
    const int64_t y = image / columns * (height + kGap) + i % area / width;
    const int64_t x = image % columns * (width + kGap) + i % width;
    grid.pixels[(y * grid.width + x) * shown + channel] =
        QuantizePixel(images_NCHW[i]);
  }
  return grid;
}

// Uses libpng's simplified interface, which reports errors without longjmp.
// DecodePng cannot use it because it always applies gamma.
absl::StatusOr<std::string> EncodePng(const PixelImage& image) {
  GANDEM_CHECK(image.channels == 1 || image.channels == 3);
  GANDEM_CHECK(static_cast<int64_t>(image.pixels.size()) ==
               image.channels * image.height * image.width);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const absl::Cleanup free_png = [&png] { png_image_free(&png); };
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&png, bytes.data(), &size,
                                 /*convert_to_8bit=*/0, image.pixels.data(),
                                 /*row_stride=*/0, /*colormap=*/nullptr)) {
    return absl::InternalError(absl::StrCat("PNG of ", image.height, " x ",
                                            image.width, ": ", png.message));
  }
  bytes.resize(size);
  return bytes;
}

absl::Status WritePng(const std::string& path, const PixelImage& image) {
  GANDEM_ASSIGN_OR_RETURN(const std::string bytes, EncodePng(image));
  return WriteFileDurably(path, bytes);
}

absl::StatusOr<PixelImage> DecodePng(absl::string_view bytes, AlphaRule alpha) {
  PngReading reading = {.next = bytes.data(), .left = bytes.size()};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading,
                                           EndPngWithError, IgnorePngWarning);
  if (png == nullptr) return absl::ResourceExhaustedError("out of memory");
  png_infop info = png_create_info_struct(png);
  const absl::Cleanup free_png = [&png, &info] {
    png_destroy_read_struct(&png, &info, nullptr);
  };
  if (info == nullptr) return absl::ResourceExhaustedError("out of memory");
  png_set_read_fn(png, &reading, TakePngBytes);
  if (!BeginPng(png, info)) {
    return absl::DataLossError(absl::StrCat("not a PNG: ", reading.message));
  }
  const int64_t stored = png_get_channels(png, info);
  PixelImage image = {.channels = stored,
                      .height = png_get_image_height(png, info),
                      .width = png_get_image_width(png, info)};
  // Checks the header's claim before allocating memory.
  if (image.height * image.width * image.channels >
      kMaxPngExpansion * static_cast<int64_t>(bytes.size())) {
    return absl::DataLossError(absl::StrCat("damaged PNG: ", bytes.size(),
                                            " bytes cannot hold ", image.height,
                                            " x ", image.width, " pixels"));
  }
  const int64_t row_bytes = image.width * stored;
  image.pixels.resize(static_cast<size_t>(image.height * row_bytes));
  if (!ReadPngRows(png, info, reading, image.pixels.data(), row_bytes)) {
    return absl::DataLossError(absl::StrCat("damaged PNG: ", reading.message));
  }
  alpha == AlphaRule::kOnBlack ? PutOnBlack(image) : DropAlpha(image);
  return image;
}

namespace {

// Replaces each value by value(v, alpha) and drops the alpha channel.
template <typename Value>
void RemoveAlpha(PixelImage& image, Value value) {
  if (image.channels != 2 && image.channels != 4) return;
  const int64_t colors = image.channels - 1;
  const uint8_t* from = image.pixels.data();
  uint8_t* to = image.pixels.data();
  for (int64_t i = 0; i < image.height * image.width; ++i) {
    const int alpha = from[colors];
    for (int64_t c = 0; c < colors; ++c) {
      *to++ = static_cast<uint8_t>(value(*from++, alpha));
    }
    ++from;
  }
  image.channels = colors;
  image.pixels.resize(static_cast<size_t>(image.height * image.width * colors));
}

}  // namespace

void PutOnBlack(PixelImage& image) {
  RemoveAlpha(image, [](int v, int alpha) { return (v * alpha + 127) / 255; });
}

void DropAlpha(PixelImage& image) {
  RemoveAlpha(image, [](int v, int /*alpha*/) { return v; });
}

}  // namespace gandem
