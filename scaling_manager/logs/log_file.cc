// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/config/role_name.h"
#include "common/files/file.h"
#include "common/files/rotation.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kReadBytes = 1 << 20;

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

LogFile::LogFile(std::string path, LogSource source, absl::TimeZone zone)
    : path_(std::move(path)), source_(std::move(source)), zone_(zone) {}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

std::vector<LogEntry> LogFile::Read() {
  if (!has_begun_) ReadOlder();
  has_begun_ = true;
  const bool was_open = open_.has_value();
  const size_t known = ready_.size();
  ReadNewest();
  // Its rest had the time between two calls to come.
  if (was_open && ready_.size() == known) CloseOpenEntry();
  return std::exchange(ready_, {});
}

std::vector<LogEntry> LogFile::TakeRest() {
  if (!part_.empty()) AddLine(std::exchange(part_, {}));
  CloseOpenEntry();
  return std::exchange(ready_, {});
}

void LogFile::ReadOlder() {
  for (int number = kOlderLogs; number >= 1; --number) {
    const auto text = ReadFile(RotatedName(path_, number));
    if (text.ok()) Add(*text);
  }
}

void LogFile::ReadNewest() {
  if (fd_ < 0) Reopen();
  if (fd_ < 0) return;
  struct stat opened = {};
  struct stat named = {};
  if (fstat(fd_, &opened) != 0) return;
  const bool has_moved =
      stat(path_.c_str(), &named) == 0 &&
      (named.st_ino != opened.st_ino || named.st_dev != opened.st_dev);
  if (opened.st_size < offset_) {
    // A copy has moved, and this was emptied (RotateOpenFile).
    const auto copy = ReadFile(RotatedName(path_, 1));
    if (copy.ok() && static_cast<int64_t>(copy->size()) > offset_) {
      Add(absl::string_view(*copy).substr(static_cast<size_t>(offset_)));
    }
    offset_ = 0;
  }
  ReadToEnd();
  if (!has_moved) return;
  Reopen();
  ReadToEnd();
}

void LogFile::Reopen() {
  if (fd_ >= 0) close(fd_);
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  offset_ = 0;
}

void LogFile::ReadToEnd() {
  while (fd_ >= 0) {
    const auto bytes = ReadAt(fd_, path_, offset_, kReadBytes);
    if (!bytes.ok() || bytes->empty()) return;
    offset_ += static_cast<int64_t>(bytes->size());
    Add(*bytes);
  }
}

void LogFile::Add(absl::string_view bytes) {
  for (size_t end = bytes.find('\n'); end != absl::string_view::npos;
       end = bytes.find('\n')) {
    absl::StrAppend(&part_, bytes.substr(0, end));
    AddLine(std::exchange(part_, {}));
    bytes.remove_prefix(end + 1);
  }
  absl::StrAppend(&part_, bytes);
}

void LogFile::AddLine(const std::string& line) {
  std::optional<LogEntry> entry = ParseLogLine(line, source_, zone_);
  if (entry.has_value()) {
    // What stands before the first stamp is shown beside it.
    if (last_time_ == absl::InfinitePast()) last_time_ = entry->time;
    CloseOpenEntry();
    last_time_ = entry->time;
    last_level_ = entry->level;
    open_ = *std::move(entry);
  } else if (open_.has_value()) {
    absl::StrAppend(&open_->text, "\n", line);
  } else {
    open_ = LogEntry{.level = last_level_, .source = source_, .text = line};
    has_own_time_ = false;
  }
}

void LogFile::CloseOpenEntry() {
  if (!open_.has_value()) return;
  if (!has_own_time_) open_->time = TimeOfUnstamped();
  has_own_time_ = true;
  ready_.push_back(*std::exchange(open_, std::nullopt));
}

// That of the line before it; of a file without any the time of its last line.
absl::Time LogFile::TimeOfUnstamped() const {
  if (last_time_ != absl::InfinitePast()) return last_time_;
  struct stat opened = {};
  return fd_ >= 0 && fstat(fd_, &opened) == 0
             ? absl::TimeFromTimespec(opened.st_mtim)
             : absl::UnixEpoch();
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
