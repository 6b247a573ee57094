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

bool IsBefore(const LogEntry& a, const LogEntry& b) {
  return std::tie(a.time, a.source) < std::tie(b.time, b.source);
}

class LogReader {
 public:
  LogReader(const LogsOptions& options, const LogsHooks& hooks,
            absl::Time since, LogLevel level, std::ostream& out)
      : options_(options),
        hooks_(hooks),
        since_(since),
        level_(level),
        out_(out) {}

  absl::Status Run();

 private:
  // NOT_FOUND: there is no log to show.
  absl::Status FindFiles();
  void Show(bool ended);

  const LogsOptions& options_;
  const LogsHooks& hooks_;
  const absl::Time since_;
  const LogLevel level_;
  std::ostream& out_;
  std::map<LogSource, LogFile> files_;
  std::vector<LogEntry> held_;  // sorted
};

absl::Status LogReader::FindFiles() {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<LogSource> sources,
                          ListLogSources(options_.run_dir));
  for (const LogSource& source : sources) {
    if ((options_.role.empty() || source.role == options_.role) &&
        (options_.rank < 0 || source.rank == options_.rank)) {
      files_.try_emplace(source, LogPath(options_.run_dir, source), source,
                         hooks_.zone);
    }
  }
  if (!files_.empty()) return absl::OkStatus();
  const auto append = [](std::string* text, const LogSource& source) {
    *text += ToString(source);
  };
  return absl::NotFoundError(absl::StrCat(
      "'", options_.run_dir, "/logs' has no log of ",
      options_.role.empty() ? "a process" : options_.role,
      options_.rank < 0 ? "" : absl::StrCat(" of rank ", options_.rank),
      sources.empty() ? "; workers that were started by hand write to stderr"
                      : absl::StrCat("; there are those of ",
                                     absl::StrJoin(sources, ", ", append))));
}

// Prints the lines that were held back, and all that are older than the newest
// of them; at the end of the run all.
void LogReader::Show(bool ended) {
  const std::optional<LogEntry> newest =
      held_.empty() ? std::nullopt : std::optional(held_.back());
  for (auto& [source, file] : files_) {
    std::vector<LogEntry> entries;
    file.Read(ended, entries);
    for (LogEntry& entry : entries) {
      if (entry.time < since_ || entry.level < level_) continue;
      held_.push_back(std::move(entry));
    }
  }
  std::ranges::stable_sort(held_, IsBefore);
  auto end = ended ? held_.end() : held_.begin();
  if (!ended && newest.has_value()) {
    end = std::ranges::upper_bound(held_, *newest, IsBefore);
  }
  for (auto entry = held_.begin(); entry != end; ++entry) {
    out_ << (options_.json ? LogJson(*entry) : LogText(*entry, hooks_.zone))
         << "\n";
  }
  out_.flush();
  held_.erase(held_.begin(), end);
}

absl::Status LogReader::Run() {
  bool leaves = !options_.follow;
  while (!leaves && hooks_.run_is_alive()) {
    FindFiles().IgnoreError();  // workers may still be about to start
    Show(/*ended=*/false);
    leaves = hooks_.wait(kMergeWindow);
  }
  // The last words of the processes may be on their way from other hosts.
  if (!leaves) hooks_.wait(kMergeWindow);
  GANDEM_RETURN_IF_ERROR(FindFiles());
  Show(/*ended=*/true);
  return absl::OkStatus();
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
  return LogReader(options, hooks, since, *level, out).Run();
}

}  // namespace gandem
