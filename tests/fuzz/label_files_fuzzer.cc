// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the readers of label files.
#include <cstddef>
#include <cstdint>

#include "common/check.h"
#include "pipeline/formats/label_files.h"
#include "tests/fuzz/input_file.h"

namespace gandem {
namespace {

void CheckLabels(const absl::StatusOr<LabelTexts>& labels) {
  if (!labels.ok()) {
    GANDEM_CHECK(absl::IsInvalidArgument(labels.status()));
    return;
  }
  std::vector<std::string> texts;
  for (const auto& [name, text] : *labels) texts.push_back(text);
  const LabelNumbers numbers(texts);
  for (const std::string& text : texts) {
    const int64_t number = numbers.NumberOf(text);
    GANDEM_CHECK(!text.empty() && number >= 0);
    GANDEM_CHECK(numbers.class_names().empty() ||
                 numbers.class_names()[number] == text);
  }
}

}  // namespace
}  // namespace gandem

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const absl::string_view text = TextOf(data, size);
  CheckLabels(ParseDatasetJson(text));
  CheckLabels(ParseLabelsCsv(text));
  CheckLabels(ParseMetadataCsv(text));
  CheckLabels(ParseMetadataJsonl(text));
  const auto label = ParseSampleJson(text);
  GANDEM_CHECK(label.ok() || absl::IsInvalidArgument(label.status()));
  return 0;
}
