// SPDX-License-Identifier: Apache-2.0
//
// Reads the log of one process of a run (common/process/log.h), which may grow
// and be rotated (common/files/rotation.h) between two reads.
//
// Owner: the reader of a run's logs. Thread safety: one thread.
// Errors: an unreadable file has no lines, but a later read may find some. Two
// rotations between two reads leave lines out.
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

// One line as the process wrote it, and all lines without a time stamp after
// it, for example of a traceback.
struct LogEntry {
  absl::Time time = {};
  LogLevel level = LogLevel::kInfo;
  std::string text = {};  // untrusted: escape it before it is printed
};

// Parses a line of text, whose time is in `zone`, or a JSON object. None: the
// line has no valid time stamp.
std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     absl::TimeZone zone);

class LogFile {
 public:
  // `path`: the newest file, for example RUN_DIR/logs/generator-1.log. `name`
  // is put before lines without a time stamp that begin an entry.
  LogFile(std::string path, std::string name, absl::TimeZone zone);

  // Returns the entries that are new since the last call, in the order of the
  // file. The first call includes all older files. An unfinished line is left
  // for the next call, unless `ended`: the process has stopped writing.
  std::vector<LogEntry> Read(bool ended);

 private:
  std::string ReadNewBytes();
  void AddLine(absl::string_view line, std::vector<LogEntry>& entries);

  const std::string path_;
  const std::string name_;
  const absl::TimeZone zone_;
  ino_t inode_ = 0;  // 0: nothing was read yet
  int64_t offset_ = 0;
  std::string part_ = {};  // beginning of an unfinished line
  // Time and level of the last line with a time stamp.
  absl::Time last_time_ = absl::InfinitePast();
  LogLevel last_level_ = LogLevel::kError;
};

}  // namespace gandem
