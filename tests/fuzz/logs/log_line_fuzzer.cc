// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of a run's log lines.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "control_plane/logs/log_file.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  for (const absl::string_view line :
       absl::StrSplit(TextOf(data, size), '\n')) {
    const auto entry = ParseLogLine(line, absl::UTCTimeZone());
    if (!entry.has_value()) continue;
    GANDEM_CHECK(entry->text == line);
    GANDEM_CHECK(entry->time != absl::InfinitePast() &&
                 entry->time != absl::InfiniteFuture());
  }
  return 0;
}
