// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader and writer of exclude lists.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/formats/exclude_list.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view text = TextOf(data, size);
  const auto keys = ParseExcludeList(text);
  if (!keys.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(keys.status()));
    return 0;
  }
  std::vector<ExcludedImage> images;
  for (const std::string& key : *keys) {
    images.push_back({.key = key, .reason = std::string(text)});
  }
  const auto again = ParseExcludeList(FormatExcludeList(images));
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(*again == *keys);
  return 0;
}
