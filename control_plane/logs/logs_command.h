// SPDX-License-Identifier: Apache-2.0
//
// `gandem logs` prints the lines of all processes of a run in the order of time
// (docs/how_to/monitoring.md), in their format (text or JSON), with control
// characters escaped. Holds all lines to print in memory at once.
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
  std::string level = "debug";  // the lowest level to print
};

// Clock, time zone and state of the run, which tests replace.
struct LogsHooks {
  std::function<bool()> run_is_alive;  // required
  // Waits for the duration. Returns true if the user wants to exit.
  std::function<bool(absl::Duration)> wait;  // required
  std::function<absl::Time()> now;           // required
  absl::TimeZone zone = absl::LocalTimeZone();
};

// Interval at which --follow reads the logs and prints the new lines by time.
inline constexpr absl::Duration kReadInterval = absl::Seconds(1);

// Returns the time `text`, as in 2026-01-31T12:00:00Z or "2026-01-31 12:00:00"
// in `zone`, or the time a duration before `now`, as in "90s" or "1h30m".
//   INVALID_ARGUMENT  the text is neither a time nor a duration.
absl::StatusOr<absl::Time> ParseSince(const std::string& text, absl::Time now,
                                      absl::TimeZone zone);

// Prints the lines to `out`.
//   NOT_FOUND         the folder has no logs, or none of this role and rank.
//   INVALID_ARGUMENT  an option has an invalid value.
absl::Status RunLogs(const LogsOptions& options, const LogsHooks& hooks,
                     std::ostream& out);

}  // namespace gandem
