// SPDX-License-Identifier: Apache-2.0
//
// The log of one process of a run, which may grow and be rotated
// (common/files/rotation.h) between two reads. A line without a time stamp, for
// example of a traceback, belongs to the entry of the line before it.
//
// Owner: the reader of a run's logs. Thread safety: one thread.
// Errors: an unreadable file has no lines, but a later read may find some.
// Lines that were not read before a rotation by a copy, or before a second
// rotation, are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control_plane/logs/log_entry.h"

namespace gandem {

class LogFile {
 public:
  // `path`: the newest file, for example RUN_DIR/logs/generator-1.log.
  LogFile(std::string path, LogSource source, absl::TimeZone zone);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  // Returns the entries that are new since the last call, in the order of the
  // file. The first call includes all older files. An unfinished line is left
  // for the next call, unless `ended`: the process has stopped writing.
  std::vector<LogEntry> Read(bool ended);

 private:
  void ReadOpenFile(std::vector<LogEntry>& entries);
  void AddText(const std::string& text, std::vector<LogEntry>& entries);
  void AddLine(const std::string& line, std::vector<LogEntry>& entries);

  const std::string path_;
  const LogSource source_;
  const absl::TimeZone zone_;
  bool has_begun_ = false;
  int fd_ = -1;  // the newest file
  int64_t offset_ = 0;
  std::string part_ = {};  // beginning of an unfinished line
  // Time and level of the last line with a time stamp.
  absl::Time last_time_ = absl::InfinitePast();
  LogLevel last_level_ = LogLevel::kError;
};

// The processes that have a log in the run folder: gandem.log, ROLE-RANK.log.
//   NOT_FOUND  the run folder has no logs.
absl::StatusOr<std::vector<LogSource>> ListLogSources(
    const std::string& run_dir);
std::string LogPath(const std::string& run_dir, const LogSource& source);

}  // namespace gandem
