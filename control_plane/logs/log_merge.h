// SPDX-License-Identifier: Apache-2.0
//
// Lines of several logs in one order: that of their times; at one time that of
// the processes, and of the lines in their files.
//
// What is there already is merged with one line of each log in memory. Threads
// of a process write a moment after they have looked at the clock: a line that
// is older than the one before it in its file stands after that.
//
// Lines that arrive are held back until the next Release(), so that what
// another process has written a moment before can come first. A line that comes
// later than that stands where it arrives.
//
// Owner: the reader of a run's logs. Thread safety: one thread. No errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "control_plane/logs/log_entry.h"

namespace gandem {

// A log's next line; none: that was all.
using NextLogEntry = std::function<std::optional<LogEntry>()>;

// Hands the lines of all `logs` to `take`, in the order above.
void MergeLogs(const std::vector<NextLogEntry>& logs,
               absl::FunctionRef<void(LogEntry)> take);

class LogMerge {
 public:
  void Add(std::vector<LogEntry> entries);

  // Those that were there at the Release() before, and all that are older.
  std::vector<LogEntry> Release();

  // All.
  std::vector<LogEntry> Drain();

 private:
  struct HeldEntry {
    LogEntry entry = {};
    int64_t releases = 0;  // before it came
  };
  std::vector<LogEntry> Take(size_t count);
  void Sort();

  std::vector<HeldEntry> held_;
  int64_t releases_ = 0;
};

// Keeps the first `most` lines (at least 1) of each process. In the place of
// the last one that is left out stands how many they were.
std::vector<LogEntry> LimitLines(std::vector<LogEntry> entries, size_t most);

}  // namespace gandem
