// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the PNG reader.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "common/files/png.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto image = DecodePng(TextOf(data, size));
  if (!image.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(image.status()));
    return 0;
  }
  GANDEM_CHECK(image->channels == 1 || image->channels == 3);
  GANDEM_CHECK(static_cast<int64_t>(image->pixels.size()) ==
               image->channels * image->height * image->width);
  GANDEM_CHECK(image->pixels.size() <= size_t{kMaxPngExpansion} * size);
  const auto written = EncodePng(*image);
  GANDEM_CHECK_OK(written.status());
  const auto again = DecodePng(*written);
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(again->channels == image->channels &&
               again->height == image->height && again->width == image->width &&
               again->pixels == image->pixels);
  return 0;
}
