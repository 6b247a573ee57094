// SPDX-License-Identifier: Apache-2.0
//
// A line of a run's logs, as common/process/log.h writes it: text for people or
// a JSON object. What has no time stamp of its own (a traceback, what a loader
// says) is part of the line before it.
//
// Thread safety: values and pure functions. No errors: a damaged line is one
// without a stamp.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/process/log.h"

namespace gandem {

// Whose log it is; in the order in which lines of one time are shown.
struct LogSource {
  std::string role = {};  // "gandem", "generator" ...
  int rank = -1;          // -1: the role has no ranks
  auto operator<=>(const LogSource&) const = default;
};
// "generator/1"
std::string ToString(const LogSource& source);

struct LogEntry {
  absl::Time time = {};
  LogLevel level = LogLevel::kInfo;
  LogSource source = {};
  std::string text = {};  // of others: not to be printed as it is
};

// `line` has no line break. Times of text are in `zone`, those of JSON in UTC.
// None: the line has no stamp.
std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     const LogSource& source,
                                     absl::TimeZone zone);

// As text or as JSON, in the forms of common/process/log.h. Lines of a text
// after its first begin with "  | ", so that none of them looks like a line of
// the log; control characters are escaped.
std::string LogText(const LogEntry& entry, absl::TimeZone zone);
std::string LogJson(const LogEntry& entry);

}  // namespace gandem
