// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of PNG, JPEG and WebP files with Exif data.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/formats/image_decoder.h"
#include "pipeline/formats/jpeg.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

// Keeps the time per input below a second.
constexpr int64_t kMaxPixels = 1 << 20;

// Checks that the decoded image has the shape in its header.
void CheckPlainReading(absl::string_view bytes) {
  const auto shape = ShapeOfImage(bytes);
  const auto image = DecodeImage(bytes, kMaxPixels, ImageReading::kPlain);
  if (!image.ok()) return;
  GANDEM_CHECK_OK(shape.status());
  GANDEM_CHECK(*shape == ShapeOf(image->pixels));
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const int orientation = ExifOrientation(TextOf(data, size));
  GANDEM_CHECK(orientation >= 1 && orientation <= 8);
  CheckPlainReading(TextOf(data, size));
  const auto image = DecodeImage(TextOf(data, size), kMaxPixels);
  if (!image.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(image.status()) ||
                 absl::IsInvalidArgument(image.status()));
    return 0;
  }
  const PixelImage& pixels = image->pixels;
  GANDEM_CHECK(pixels.channels == 1 || pixels.channels == 3);
  GANDEM_CHECK(pixels.height * pixels.width <= kMaxPixels);
  GANDEM_CHECK(static_cast<int64_t>(pixels.pixels.size()) ==
               pixels.channels * pixels.height * pixels.width);
  GANDEM_CHECK(!KindText(image->kind).empty());
  const auto written = EncodePng(pixels);
  GANDEM_CHECK_OK(written.status());
  const auto again = DecodeImage(*written, kMaxPixels);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->pixels == pixels);
  return 0;
}
