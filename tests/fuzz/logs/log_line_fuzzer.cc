// SPDX-License-Identifier: Apache-2.0
//
// The reader of a run's logs on any lines.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_split.h"
#include "common/check.h"
#include "control_plane/logs/log_entry.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gandem;
  const LogSource source = {.role = "generator", .rank = 1};
  const absl::TimeZone zone = absl::UTCTimeZone();
  for (const absl::string_view line :
       absl::StrSplit(TextOf(data, size), '\n')) {
    const auto entry = ParseLogLine(line, source, zone);
    if (!entry.has_value()) continue;
    // No byte of it reaches a terminal that would obey it.
    for (const char byte : LogText(*entry, zone)) {
      GANDEM_CHECK(byte == '\n' || byte == '\t' ||
                   static_cast<unsigned char>(byte) >= 0x20);
    }
    // An entry that is written can be read again.
    const auto again = ParseLogLine(LogJson(*entry), source, zone);
    GANDEM_CHECK(again.has_value() && again->level == entry->level);
  }
  return 0;
}
