// SPDX-License-Identifier: Apache-2.0
//
// The readers of dataset.json and labels.csv on any bytes.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/formats/label_files.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

void CheckLabels(const absl::StatusOr<ImageLabels>& labels) {
  if (!labels.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(labels.status()));
    return;
  }
  for (const auto& [name, label] : labels->by_name) {
    GANDEM_CHECK(label >= 0);
    GANDEM_CHECK(labels->class_names.empty() ||
                 label < static_cast<int64_t>(labels->class_names.size()));
  }
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  CheckLabels(ParseDatasetJson(TextOf(data, size)));
  CheckLabels(ParseLabelsCsv(TextOf(data, size)));
  return 0;
}
