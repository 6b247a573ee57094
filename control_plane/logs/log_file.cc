// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

// "generator-1.log"; none: it is no process's, or an older one.
std::optional<LogSource> SourceOf(absl::string_view name) {
  if (name == "gandem.log") return LogSource{.role = "gandem"};
  if (!absl::ConsumeSuffix(&name, ".log")) return std::nullopt;
  for (const Role role : {GENERATOR, DISCRIMINATOR, COLOCATED}) {
    absl::string_view number = name;
    LogSource source = {.role = RoleName(role)};
    if (absl::ConsumePrefix(&number, source.role + "-") &&
        std::ranges::all_of(number, absl::ascii_isdigit) &&
        absl::SimpleAtoi(number, &source.rank)) {
      return source;
    }
  }
  return std::nullopt;
}

}  // namespace

LogFile::LogFile(const std::string& path, LogSource source, absl::TimeZone zone)
    : source_(std::move(source)), zone_(zone), file_(path) {
  file_.Look();
}

std::optional<LogEntry> LogFile::Next() {
  while (const std::optional<std::string> line = NextLine()) {
    if (std::optional<LogEntry> closed = AddLine(*line)) return closed;
  }
  return std::nullopt;
}

std::vector<LogEntry> LogFile::Read() {
  file_.Look();
  const bool was_open = open_.has_value();
  std::vector<LogEntry> entries;
  while (std::optional<LogEntry> entry = Next()) {
    entries.push_back(*std::move(entry));
  }
  // Its rest had the time between two calls to come.
  if (was_open && entries.empty())
    entries.push_back(*TakeOpen(absl::InfiniteFuture()));
  return entries;
}

std::optional<LogEntry> LogFile::TakeOpen(absl::Time until) {
  if (!open_.has_value()) return std::nullopt;
  if (!has_own_time_) open_->time = TimeOfUnstamped();
  if (open_->time > until) return std::nullopt;
  has_own_time_ = true;
  return std::exchange(open_, std::nullopt);
}

std::optional<LogEntry> LogFile::TakeRest() {
  if (!part_.empty()) {
    std::optional<LogEntry> closed = AddLine(std::exchange(part_, {}));
    if (closed.has_value()) return closed;
  }
  return TakeOpen(absl::InfiniteFuture());
}

std::optional<std::string> LogFile::NextLine() {
  while (true) {
    const size_t end = piece_.find('\n', piece_start_);
    absl::StrAppend(&part_, absl::string_view(piece_).substr(
                                piece_start_, end - piece_start_));
    if (end != std::string::npos) {
      piece_start_ = end + 1;
      return std::exchange(part_, {});
    }
    piece_ = file_.Read();
    piece_start_ = 0;
    if (piece_.empty()) return std::nullopt;
  }
}

// The one before it, which `line` has ended.
std::optional<LogEntry> LogFile::AddLine(const std::string& line) {
  std::optional<LogEntry> entry = ParseLogLine(line, source_, zone_);
  if (entry.has_value()) {
    // What stands before the first stamp is shown beside it.
    if (last_time_ == absl::InfinitePast()) last_time_ = entry->time;
    std::optional<LogEntry> closed = TakeOpen(absl::InfiniteFuture());
    last_time_ = entry->time;
    last_level_ = entry->level;
    open_ = *std::move(entry);
    return closed;
  }
  if (open_.has_value()) {
    absl::StrAppend(&open_->text, "\n", line);
  } else {
    open_ = LogEntry{.level = last_level_, .source = source_, .text = line};
    has_own_time_ = false;
  }
  return std::nullopt;
}

// That of the line before it; of a file without any the time of its last line.
absl::Time LogFile::TimeOfUnstamped() const {
  return last_time_ != absl::InfinitePast() ? last_time_ : file_.ChangeTime();
}

absl::StatusOr<std::vector<LogSource>> ListLogSources(
    const std::string& run_dir) {
  const std::string folder = run_dir + "/logs";
  if (!PathExists(folder)) {
    return absl::NotFoundError(absl::StrCat(
        "'", run_dir,
        "' holds no run (there is no logs/ in it): name the folder that "
        "`gandem train --run_dir` has made"));
  }
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  std::vector<LogSource> sources;
  for (const std::string& name : names) {
    const std::optional<LogSource> source = SourceOf(name);
    if (source.has_value()) sources.push_back(*source);
  }
  return sources;
}

std::string LogPath(const std::string& run_dir, const LogSource& source) {
  return absl::StrCat(run_dir, "/logs/", source.role,
                      source.rank < 0 ? "" : absl::StrCat("-", source.rank),
                      ".log");
}

}  // namespace gandem
