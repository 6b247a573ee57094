// SPDX-License-Identifier: Apache-2.0
#include "common/files/png.h"

#include <png.h>

#include <cmath>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kGap = 2;
constexpr uint8_t kGapValue = 255;

}  // namespace

uint8_t QuantizePixel(float value) {
  const float scaled = (value + 1.0f) / 2.0f * 255.0f + 0.5f;
  if (!(scaled > 0.0f)) return 0;  // NaN too
  return scaled >= 255.0f ? 255 : static_cast<uint8_t>(scaled);
}

// The last row may be short.
PixelImage TileImages(std::span<const float> images_NCHW, ImageShape shape,
                      int64_t columns) {
  const auto [channels, height, width] = shape;
  GANDEM_CHECK(channels == 1 || channels == 3);
  GANDEM_CHECK(height >= 1 && width >= 1);
  const int64_t area = height * width;
  const auto num_values = static_cast<int64_t>(images_NCHW.size());
  GANDEM_CHECK(num_values >= 1 && num_values % shape.NumValues() == 0);
  const int64_t num_images = num_values / shape.NumValues();
  if (columns == 0) {
    columns = static_cast<int64_t>(
        std::ceil(std::sqrt(static_cast<double>(num_images))));
  }
  const int64_t rows = (num_images + columns - 1) / columns;
  PixelImage grid = {.channels = channels,
                     .height = rows * (height + kGap) - kGap,
                     .width = columns * (width + kGap) - kGap};
  grid.pixels.assign(grid.height * grid.width * channels, kGapValue);
  for (int64_t i = 0; i < num_values; ++i) {
    const int64_t image = i / shape.NumValues();
    const int64_t channel = i / area % channels;
    const int64_t y = image / columns * (height + kGap) + i % area / width;
    const int64_t x = image % columns * (width + kGap) + i % width;
    grid.pixels[(y * grid.width + x) * channels + channel] =
        QuantizePixel(images_NCHW[i]);
  }
  return grid;
}

// Here and below: libpng's simplified interface, which reports errors without
// longjmp.
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

absl::StatusOr<PixelImage> DecodePng(absl::string_view bytes) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const absl::Cleanup free_png = [&png] { png_image_free(&png); };
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) {
    return absl::DataLossError(absl::StrCat("not a PNG: ", png.message));
  }
  const bool color = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  PixelImage image = {.channels = color ? 3 : 1,
                      .height = static_cast<int64_t>(png.height),
                      .width = static_cast<int64_t>(png.width)};
  // Before anything is allocated on the word of the header.
  if (image.height * image.width * image.channels >
      kMaxPngExpansion * static_cast<int64_t>(bytes.size())) {
    return absl::DataLossError(absl::StrCat("damaged PNG: ", bytes.size(),
                                            " bytes cannot hold ", image.height,
                                            " x ", image.width, " pixels"));
  }
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  const png_color black = {0, 0, 0};
  if (!png_image_finish_read(&png, &black, image.pixels.data(),
                             /*row_stride=*/0, /*colormap=*/nullptr)) {
    return absl::DataLossError(absl::StrCat("damaged PNG: ", png.message));
  }
  return image;
}

}  // namespace gandem
