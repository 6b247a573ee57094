// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader and writer of pack.json.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/sources/pack_images.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const auto record = ParsePackRecord(TextOf(data, size));
  if (record.has_value()) {
    GANDEM_CHECK(ParsePackRecord(FormatPackRecord(*record)) == record);
  }
  return 0;
}
