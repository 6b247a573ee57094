// SPDX-License-Identifier: Apache-2.0
//
// Reads the log of one process of a run (common/process/log.h), which may grow
// and be rotated (common/files/rotation.h) between two reads.
//
// Owner: the reader of a run's logs. Thread safety: one thread.
// Errors: an unreadable file counts as empty until it becomes readable. Two
// rotations between two reads lose lines.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/process/log.h"

namespace gandem {

// A log line and the following lines without a time stamp, such as a traceback.
struct LogEntry {
  absl::Time time = {};
  LogLevel level = LogLevel::kInfo;
  std::string text = {};  // untrusted: escape before printing
};

// Parses a text line, whose time is in `zone`, or a JSON line. Returns nullopt
// if the line has no valid time stamp.
std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     absl::TimeZone zone);

class LogFile {
 public:
  // `path`: the newest file, for example RUN_DIR/logs/generator-1.log. `name`:
  // prefix of entries that begin without a time stamp.
  LogFile(std::string path, std::string name, absl::TimeZone zone);

  // Returns the new entries since the last call, in the order of the file. The
  // first call includes rotated files. Leaves an unfinished line for the next
  // call, unless the process has `ended`.
  std::vector<LogEntry> Read(bool ended);

 private:
  std::string ReadNewBytes();
  void AddLine(absl::string_view line, std::vector<LogEntry>& entries);

  const std::string path_;
  const std::string name_;
  const absl::TimeZone zone_;
  ino_t inode_ = 0;  // 0 before the first read
  int64_t offset_ = 0;
  std::string part_ = {};  // beginning of an unfinished line
  absl::Time last_time_ = absl::InfinitePast();
  LogLevel last_level_ = LogLevel::kError;
};

}  // namespace gandem
