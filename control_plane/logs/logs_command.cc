// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/logs_command.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/files/file.h"
#include "common/files/printable.h"
#include "common/status.h"
#include "control_plane/logs/log_file.h"

namespace gandem {
namespace {

// Log files by name of the process, for example "generator-1".
using LogFiles = std::map<std::string, LogFile>;

// Returns the names of the processes that have a log in the run folder.
absl::StatusOr<std::vector<std::string>> ListProcesses(
    const std::string& run_dir) {
  const std::string folder = run_dir + "/logs";
  if (!PathExists(folder)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir,
        "' holds no run (there is no logs/ in it): name the folder that "
        "`gandem train --run_dir` has made"));
  }
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> names,
                          ListDirectory(folder));
  // Rotated files are named generator-1.2.log.
  static const std::regex log("(gandem|[a-z]+-[0-9]+)\\.log");
  std::erase_if(names, [](const std::string& name) {
    return !std::regex_match(name, log);
  });
  for (std::string& name : names) name.resize(name.size() - strlen(".log"));
  return names;
}

// Adds the existing log files of the role and rank in `options`.
//   NOT_FOUND  there is no such file.
absl::Status FindFiles(const LogsOptions& options, absl::TimeZone zone,
                       LogFiles& files) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListProcesses(options.run_dir));
  for (const std::string& name : names) {
    const std::pair<absl::string_view, absl::string_view> role_and_rank =
        absl::StrSplit(name, '-');
    if ((options.role.empty() || role_and_rank.first == options.role) &&
        (options.rank < 0 ||
         role_and_rank.second == absl::StrCat(options.rank))) {
      files.try_emplace(name,
                        absl::StrCat(options.run_dir, "/logs/", name, ".log"),
                        absl::StrReplaceAll(name, {{"-", "/"}}), zone);
    }
  }
  if (!files.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      "'", options.run_dir, "/logs' has no log of ",
      options.role.empty() ? "a process" : options.role,
      options.rank < 0 ? "" : absl::StrCat(" of rank ", options.rank),
      names.empty()
          ? "; workers that were started by hand write to stderr"
          : absl::StrCat("; there are those of ", absl::StrJoin(names, ", "))));
}

// Returns the new entries of all files since the last call, sorted by time.
std::vector<LogEntry> ReadNew(LogFiles& files, bool ended) {
  std::vector<LogEntry> all;
  for (auto& [name, file] : files) {
    for (LogEntry& entry : file.Read(ended)) all.push_back(std::move(entry));
  }
  std::ranges::stable_sort(all, {}, &LogEntry::time);
  return all;
}

}  // namespace

absl::StatusOr<absl::Time> ParseSince(const std::string& text, absl::Time now,
                                      absl::TimeZone zone) {
  absl::Duration ago;
  if (absl::ParseDuration(text, &ago) && ago >= absl::ZeroDuration()) {
    return now - ago;
  }
  absl::Time time;
  for (const char* const format :
       {"%Y-%m-%dT%H:%M:%E*S%Ez", "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M",
        "%Y-%m-%d"}) {
    if (absl::ParseTime(format, text, zone, &time, nullptr)) return time;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--since '", text,
      "' is neither a duration, as in 90s or 1h30m, nor a "
      "time, as in 2026-01-31T12:00:00Z or '2026-01-31 12:00:00'"));
}

absl::Status RunLogs(const LogsOptions& options, const LogsHooks& hooks,
                     std::ostream& out) {
  const std::optional<LogLevel> level = ParseLogLevel(options.level);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--level '", options.level,
                     "' is not one of debug, info, warn, error"));
  }
  absl::Time since = absl::InfinitePast();
  if (!options.since.empty()) {
    GANDEM_ASSIGN_OR_RETURN(since,
                            ParseSince(options.since, hooks.now(), hooks.zone));
  }
  LogFiles files;
  const auto show = [&](bool ended) {
    for (const LogEntry& entry : ReadNew(files, ended)) {
      if (entry.time < since || entry.level < *level) continue;
      // Marks lines without a time stamp, which may look like log lines.
      out << absl::StrReplaceAll(PrintableText(entry.text), {{"\n", "\n  | "}})
          << "\n";
    }
    out.flush();
  };
  bool leaves = !options.follow;
  while (!leaves && hooks.run_is_alive()) {
    // Ignores missing files, because workers may start later.
    FindFiles(options, hooks.zone, files).IgnoreError();
    show(/*ended=*/false);
    leaves = hooks.wait(kReadInterval);
  }
  // The last lines from other hosts may arrive late in a shared folder.
  if (!leaves) hooks.wait(kReadInterval);
  GANDEM_RETURN_IF_ERROR(FindFiles(options, hooks.zone, files));
  show(/*ended=*/true);
  return absl::OkStatus();
}

}  // namespace gandem
