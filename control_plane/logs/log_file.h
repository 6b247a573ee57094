// SPDX-License-Identifier: Apache-2.0
//
// The log of one process of a run, which may grow and be rotated
// while it is read (growing_file.h). A process that is started again goes on in
// the same file. In memory are a line and a piece of the file.
//
// Owner: the reader of a run's logs. Thread safety: one thread.
// Errors: a file that cannot be read has no lines; another try may find some.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "control_plane/logs/growing_file.h"
#include "control_plane/logs/log_entry.h"

namespace gandem {

class LogFile {
 public:
  // `path`: RUN_DIR/logs/generator-1.log, of which there are older ones.
  LogFile(const std::string& path, LogSource source, absl::TimeZone zone);

  const LogSource& source() const { return source_; }

  // The next line of what was there when this was made, or at the last Read():
  // the older files' first, in their order in the files. None: no more is
  // there. The last one is kept back: the rest of it may be on its way.
  std::optional<LogEntry> Next();

  // The lines that are new since the call before it. What was kept back comes
  // with the call after that.
  std::vector<LogEntry> Read();

  // What was kept back, if its time is not after `until`.
  std::optional<LogEntry> TakeOpen(absl::Time until);
  // What was kept back, a line that has not ended, too, when nobody writes any
  // more; call it until there is none.
  std::optional<LogEntry> TakeRest();

 private:
  std::optional<std::string> NextLine();
  std::optional<LogEntry> AddLine(const std::string& line);
  absl::Time TimeOfUnstamped() const;

  const LogSource source_;
  const absl::TimeZone zone_;
  GrowingFile file_;
  std::string piece_ = {};             // of the file
  size_t piece_start_ = 0;             // of what is left of it
  std::string part_ = {};              // of a line, without its end
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
