// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of metric cards.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "common/check.h"
#include "common/files/metric_card.h"
#include "common/files/proto_json.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const InputFile input(TextOf(data, size));
  const auto card = ReadMetricCard(input.path());
  if (!card.ok()) {
    GANDEM_CHECK(absl::IsDataLoss(card.status()));
    return 0;
  }
  GANDEM_CHECK(!MetricCardText(*card).empty());
  GANDEM_CHECK(nlohmann::json::accept(ProtoJson(*card, 2)));
  const std::string text = TextOf(*card);
  const InputFile output(text);
  const auto again = ReadMetricCard(output.path());
  GANDEM_CHECK_OK(again.status());
  GANDEM_CHECK(TextOf(*again) == text);
  return 0;
}
