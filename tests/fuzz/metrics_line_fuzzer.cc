// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of metrics.jsonl.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/files/proto_json.h"
#include "common/results/round_history.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  RoundHistory history;
  int64_t readable = 0;
  int64_t lines = 0;
  for (const absl::string_view line :
       absl::StrSplit(TextOf(data, size), '\n')) {
    history.AddLine(line);
    ++lines;
    const auto metrics = ParseRoundMetrics(line);
    if (!metrics.has_value()) continue;
    ++readable;
    const std::string json = ProtoJson(*metrics);
    const auto again = ParseRoundMetrics(json);
    GANDEM_CHECK(again.has_value());
    GANDEM_CHECK(ProtoJson(*again) == json);
  }
  GANDEM_CHECK(history.unreadable_lines() == lines - readable);
  int64_t kept = 0;
  for (const auto& [worker, rounds] : history.rounds()) {
    kept += static_cast<int64_t>(rounds.size());
  }
  GANDEM_CHECK(kept <= readable);
  return 0;
}
