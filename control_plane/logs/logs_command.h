// SPDX-License-Identifier: Apache-2.0
//
// `gandem logs` prints the lines of all processes of a run in the order of time
// (docs/how_to/monitoring.md), as the processes wrote them (text or JSON);
// control characters are escaped. It holds all lines to print in memory at
// once.
//
// Owner: main(). Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gandem {

struct LogsOptions {
  std::string run_dir = {};     // required
  bool follow = false;          // until the run ends
  std::string since = {};       // see ParseSince; empty: all
  std::string role = {};        // empty: all
  int64_t rank = -1;            // -1: all
  std::string level = "debug";  // this level and worse ones
};

// The clock, the time zone and the run, which tests replace.
struct LogsHooks {
  std::function<bool()> run_is_alive;  // required
  // Waits for the duration. True: the user wants to exit.
  std::function<bool(absl::Duration)> wait;  // required
  std::function<absl::Time()> now;           // required
  absl::TimeZone zone = absl::LocalTimeZone();
};

// Interval at which --follow reads the logs. It prints the new lines of an
// interval in the order of time.
inline constexpr absl::Duration kReadInterval = absl::Seconds(1);

// Parses a duration before `now` ("90s", "10m" or "1h30m") or a time:
// 2026-01-31T12:00:00Z, or "2026-01-31 12:00:00" in `zone`.
//   INVALID_ARGUMENT  the text is neither.
absl::StatusOr<absl::Time> ParseSince(const std::string& text, absl::Time now,
                                      absl::TimeZone zone);

// Prints the lines to `out`.
//   NOT_FOUND         the folder has no logs, or none of this role and rank.
//   INVALID_ARGUMENT  an option has an invalid value.
absl::Status RunLogs(const LogsOptions& options, const LogsHooks& hooks,
                     std::ostream& out);

}  // namespace gandem
