// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/logs_command.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status.h"
#include "control_plane/logs/log_entry.h"
#include "control_plane/logs/log_file.h"
#include "control_plane/logs/log_merge.h"

namespace gandem {
namespace {

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
  bool Wants(const LogSource& source) const {
    return (options_.role.empty() || source.role == options_.role) &&
           (options_.rank < 0 || source.rank == options_.rank);
  }
  bool Wants(const LogEntry& entry) const {
    return entry.time >= since_ && entry.level >= level_;
  }
  absl::Status FindFiles();
  absl::Status CheckFound() const;
  std::optional<LogEntry> NextOf(LogFile& file, absl::Time settled);
  void ShowWhatIsThere();
  void Follow();
  void Take(std::vector<LogEntry> entries);
  void Collect();
  void Print(const LogEntry& entry);
  void Print(const std::vector<LogEntry>& entries);

  const LogsOptions& options_;
  const LogsHooks& hooks_;
  const absl::Time since_;
  const LogLevel level_;
  std::ostream& out_;
  std::map<LogSource, std::unique_ptr<LogFile>> files_;
  LogMerge merge_;
};

absl::Status LogReader::FindFiles() {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<LogSource> sources,
                          ListLogSources(options_.run_dir));
  for (const LogSource& source : sources) {
    if (!Wants(source) || files_.contains(source)) continue;
    files_.emplace(source,
                   std::make_unique<LogFile>(LogPath(options_.run_dir, source),
                                             source, hooks_.zone));
  }
  return absl::OkStatus();
}

absl::Status LogReader::CheckFound() const {
  if (!files_.empty()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::vector<LogSource> sources,
                          ListLogSources(options_.run_dir));
  return absl::NotFoundError(absl::StrCat(
      "'", options_.run_dir, "/logs' has no log of ",
      options_.role.empty() ? "a process" : options_.role,
      options_.rank < 0 ? "" : absl::StrCat(" of rank ", options_.rank),
      sources.empty() ? "; workers that were started by hand write to stderr"
                      : absl::StrCat("; there are those of ",
                                     absl::StrJoin(sources, ", ",
                                                   [](std::string* text,
                                                      const LogSource& source) {
                                                     *text += ToString(source);
                                                   }))));
}

// The next line of `file` that is shown, of what is there. When following, the
// rest of its last line may still come.
std::optional<LogEntry> LogReader::NextOf(LogFile& file, absl::Time settled) {
  while (true) {
    std::optional<LogEntry> entry = file.Next();
    if (!entry.has_value()) {
      entry = options_.follow ? file.TakeOpen(settled) : file.TakeRest();
    }
    if (!entry.has_value() || Wants(*entry)) return entry;
  }
}

// When following, the newest lines wait for those of others, as all that come.
void LogReader::ShowWhatIsThere() {
  const absl::Time settled =
      options_.follow ? hooks_.now() - kMergeWindow : absl::InfiniteFuture();
  std::vector<NextLogEntry> logs;
  for (const auto& [source, file] : files_) {
    logs.push_back(
        [this, settled, &log = *file]() { return NextOf(log, settled); });
  }
  MergeLogs(logs, [&](LogEntry entry) {
    if (entry.time <= settled) {
      Print(entry);
    } else {
      merge_.Add({std::move(entry)});
    }
  });
  out_.flush();
}

void LogReader::Follow() {
  bool leaves = false;
  bool is_first = true;
  while (!leaves && hooks_.run_is_alive()) {
    leaves = hooks_.wait(kMergeWindow);
    Collect();
    // What was there before is no flood.
    std::vector<LogEntry> entries = merge_.Release();
    Print(std::exchange(is_first, false)
              ? entries
              : LimitLines(std::move(entries), kMostLinesPerWindow));
  }
  // The last words of the processes may be on their way from other hosts.
  if (!leaves) hooks_.wait(kMergeWindow);
  Collect();
}

void LogReader::Take(std::vector<LogEntry> entries) {
  std::erase_if(entries,
                [this](const LogEntry& entry) { return !Wants(entry); });
  merge_.Add(std::move(entries));
}

void LogReader::Collect() {
  // The folder was there; what is there is shown in any case.
  FindFiles().IgnoreError();
  for (auto& [source, file] : files_) Take(file->Read());
}

void LogReader::Print(const LogEntry& entry) {
  out_ << (options_.json ? LogJson(entry) : LogText(entry, hooks_.zone))
       << "\n";
}

void LogReader::Print(const std::vector<LogEntry>& entries) {
  for (const LogEntry& entry : entries) Print(entry);
  out_.flush();
}

absl::Status LogReader::Run() {
  GANDEM_RETURN_IF_ERROR(FindFiles());
  if (!options_.follow) GANDEM_RETURN_IF_ERROR(CheckFound());
  ShowWhatIsThere();
  // Nothing yet: what is held back now waits for the first window only.
  Print(merge_.Release());
  if (options_.follow) Follow();
  // All that is left is read before any of it is shown: so it is in order.
  for (auto& [source, file] : files_) {
    while (std::optional<LogEntry> entry = file->TakeRest()) {
      Take({*std::move(entry)});
    }
  }
  Print(merge_.Drain());
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
