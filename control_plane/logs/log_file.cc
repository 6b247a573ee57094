// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/rotation.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kPieceBytes = 64 << 10;

// The process with the log `name`, for example "generator-1.log". None: it is
// not the log of a process, or it is an older file.
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

LogFile::LogFile(std::string path, LogSource source, absl::TimeZone zone)
    : path_(std::move(path)), source_(std::move(source)), zone_(zone) {}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

std::vector<LogEntry> LogFile::Read(bool ended) {
  std::vector<LogEntry> entries;
  for (int number = kOlderLogs; number >= 1 && !has_begun_; --number) {
    AddText(ReadFile(RotatedName(path_, number)).value_or(""), entries);
  }
  has_begun_ = true;
  ReadOpenFile(entries);
  if (fd_ < 0 || !IsOpenAs(fd_, path_)) {
    const auto fd = OpenPlainFile(path_, "cannot open", O_RDONLY | O_CLOEXEC);
    if (fd.ok()) {
      if (fd_ >= 0) close(fd_);
      fd_ = *fd;
      offset_ = 0;
      ReadOpenFile(entries);
    }
  }
  if (ended && !part_.empty()) AddLine(std::exchange(part_, {}), entries);
  // Lines before the first time stamp get its time.
  const auto stamped = std::ranges::find_if(entries, [](const LogEntry& entry) {
    return entry.time != absl::InfinitePast();
  });
  const absl::Time first =
      stamped == entries.end() ? absl::Now() : stamped->time;
  for (auto entry = entries.begin(); entry != stamped; ++entry) {
    entry->time = first;
  }
  return entries;
}

void LogFile::ReadOpenFile(std::vector<LogEntry>& entries) {
  struct stat open = {};
  if (fd_ < 0 || fstat(fd_, &open) != 0) return;
  if (open.st_size < offset_) offset_ = 0;  // RotateOpenFile has emptied it
  while (true) {
    const auto bytes = ReadAt(fd_, path_, offset_, kPieceBytes);
    if (!bytes.ok() || bytes->empty()) return;
    offset_ += static_cast<int64_t>(bytes->size());
    AddText(*bytes, entries);
  }
}

void LogFile::AddText(const std::string& text, std::vector<LogEntry>& entries) {
  std::vector<std::string> lines = absl::StrSplit(part_ + text, '\n');
  part_ = std::move(lines.back());
  lines.pop_back();
  for (const std::string& line : lines) AddLine(line, entries);
}

void LogFile::AddLine(const std::string& line, std::vector<LogEntry>& entries) {
  if (std::optional<LogEntry> entry = ParseLogLine(line, source_, zone_)) {
    last_time_ = entry->time;
    last_level_ = entry->level;
    entries.push_back(*std::move(entry));
  } else if (!entries.empty()) {
    absl::StrAppend(&entries.back().text, "\n", line);
  } else {
    entries.push_back({.time = last_time_,
                       .level = last_level_,
                       .source = source_,
                       .text = line});
  }
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
