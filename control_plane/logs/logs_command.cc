// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/logs_command.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "control_plane/logs/log_entry.h"
#include "control_plane/logs/log_file.h"

namespace gandem {
namespace {

using LogFiles = std::map<LogSource, LogFile>;

// Adds the existing files that the options select.
//   NOT_FOUND  there are none.
absl::Status FindFiles(const LogsOptions& options, absl::TimeZone zone,
                       LogFiles& files) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<LogSource> sources,
                          ListLogSources(options.run_dir));
  for (const LogSource& source : sources) {
    if ((options.role.empty() || source.role == options.role) &&
        (options.rank < 0 || source.rank == options.rank)) {
      files.try_emplace(source, LogPath(options.run_dir, source), source, zone);
    }
  }
  if (!files.empty()) return absl::OkStatus();
  const auto append = [](std::string* text, const LogSource& source) {
    *text += ToString(source);
  };
  return absl::NotFoundError(absl::StrCat(
      "'", options.run_dir, "/logs' has no log of ",
      options.role.empty() ? "a process" : options.role,
      options.rank < 0 ? "" : absl::StrCat(" of rank ", options.rank),
      sources.empty() ? "; workers that were started by hand write to stderr"
                      : absl::StrCat("; there are those of ",
                                     absl::StrJoin(sources, ", ", append))));
}

// Entries of all files that are new since the last call, in the order of time.
std::vector<LogEntry> ReadNew(LogFiles& files, bool ended) {
  std::vector<LogEntry> all;
  for (auto& [source, file] : files) {
    for (LogEntry& entry : file.Read(ended)) all.push_back(std::move(entry));
  }
  std::ranges::stable_sort(all, [](const LogEntry& a, const LogEntry& b) {
    return std::tie(a.time, a.source) < std::tie(b.time, b.source);
  });
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
      out << (options.json ? LogJson(entry) : LogText(entry, hooks.zone))
          << "\n";
    }
    out.flush();
  };
  bool leaves = !options.follow;
  while (!leaves && hooks.run_is_alive()) {
    // Workers may still be about to start.
    FindFiles(options, hooks.zone, files).IgnoreError();
    show(/*ended=*/false);
    leaves = hooks.wait(kReadInterval);
  }
  // The last lines of processes on other hosts may still be on their way.
  if (!leaves) hooks.wait(kReadInterval);
  GANDEM_RETURN_IF_ERROR(FindFiles(options, hooks.zone, files));
  show(/*ended=*/true);
  return absl::OkStatus();
}

}  // namespace gandem
