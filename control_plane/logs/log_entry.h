// SPDX-License-Identifier: Apache-2.0
//
// A line of a run's logs, as common/process/log.h writes it: text for people or
// a JSON object.
//
// Thread safety: values and pure functions. Errors: none.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/process/log.h"

namespace gandem {

// The process that writes a log.
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
  std::string text = {};  // untrusted: escape it before it is printed
};

// Parses a line without its line break. Times of text are in `zone`, those of
// JSON in UTC. None: the line has no time stamp, or is damaged.
std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     const LogSource& source,
                                     absl::TimeZone zone);

// The entry as text or as JSON, in the forms of common/process/log.h. Control
// characters are escaped. In text, the second and all later lines of an entry
// begin with "  | ", so that none of them looks like a line of the log.
std::string LogText(const LogEntry& entry, absl::TimeZone zone);
std::string LogJson(const LogEntry& entry);

}  // namespace gandem
