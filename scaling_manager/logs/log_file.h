// SPDX-License-Identifier: Apache-2.0
//
// The log of one process of a run, which may grow and be rotated
// (common/files/rotation.h) while it is read. A process that is started again
// goes on in the same file.
//
// Owner: the reader of a run's logs. Thread safety: one thread.
// Errors: a file that cannot be read has no lines; another try may find some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scaling_manager/logs/log_entry.h"

namespace gandem {

class LogFile {
 public:
  // `path`: RUN_DIR/logs/generator-1.log, of which there are older ones.
  LogFile(std::string path, LogSource source, absl::TimeZone zone);
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  const LogSource& source() const { return source_; }

  // The lines that are new since the call before it, the older files' first, in
  // their order in the files. The last one is kept back until the next call:
  // the rest of it may be on its way.
  std::vector<LogEntry> Read();

  // What was kept back, when nobody writes any more.
  std::vector<LogEntry> TakeRest();

 private:
  void ReadOlder();
  void ReadNewest();
  void Reopen();
  void ReadToEnd();
  void Add(absl::string_view bytes);
  void AddLine(const std::string& line);
  void CloseOpenEntry();
  absl::Time TimeOfUnstamped() const;

  const std::string path_;
  const LogSource source_;
  const absl::TimeZone zone_;
  bool has_begun_ = false;
  int fd_ = -1;
  int64_t offset_ = 0;     // of fd_
  std::string part_ = {};  // of a line, without its end
  std::vector<LogEntry> ready_ = {};
  std::optional<LogEntry> open_ = {};  // lines without a stamp may follow
  bool has_own_time_ = true;           // open_
  // Of the newest line with a stamp; of a loader's complaint before the first.
  absl::Time last_time_ = absl::InfinitePast();
  LogLevel last_level_ = LogLevel::kError;
};

// The logs of a run's processes by whose they are: gandem.log and
// ROLE-RANK.log.
//   NOT_FOUND  the run folder has no logs.
absl::StatusOr<std::vector<LogSource>> ListLogSources(
    const std::string& run_dir);
std::string LogPath(const std::string& run_dir, const LogSource& source);

}  // namespace gandem
