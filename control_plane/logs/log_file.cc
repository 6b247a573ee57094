// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/config/role_name.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/rotation.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr int64_t kPieceBytes = 64 << 10;
// Bytes by which a file that was emptied and grew again is recognized; chosen.
constexpr size_t kBefore = 256;

// 0 is the newest file.
std::string NameOf(const std::string& path, int number) {
  return number == 0 ? path : RotatedName(path, number);
}

// The number that the open file has by now; -1: it was removed.
int NumberOf(const std::string& path, const struct stat& open) {
  const FileWait wait(path);
  for (int number = 0; number <= kOlderLogs; ++number) {
    struct stat found = {};
    if (stat(NameOf(path, number).c_str(), &found) == 0 &&
        found.st_ino == open.st_ino && found.st_dev == open.st_dev) {
      return number;
    }
  }
  return -1;
}

// "generator-1.log". None: it is the log of no process, or an older file.
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

void LogFile::Read(bool ended, std::vector<LogEntry>& entries) {
  const bool was_held = newest_.has_value();
  const size_t num_before = entries.size();
  for (std::string piece; !(piece = ReadPiece()).empty();) {
    std::vector<std::string> lines = absl::StrSplit(part_ + piece, '\n');
    part_ = std::move(lines.back());
    lines.pop_back();
    for (const std::string& line : lines) AddLine(line, entries);
  }
  if (ended && !part_.empty()) AddLine(std::exchange(part_, {}), entries);
  if (ended || (was_held && entries.size() == num_before)) TakeNewest(entries);
}

std::string LogFile::ReadPiece() {
  while (true) {
    if (fd_ >= 0) {
      // RotateOpenFile has copied the file and emptied it: the copy has the
      // rest.
      if (WasEmptied() && !Open(1, offset_)) Open(0, 0);
      auto bytes = ReadAt(fd_, path_, offset_, kPieceBytes);
      if (bytes.ok() && !bytes->empty()) {
        offset_ += static_cast<int64_t>(bytes->size());
        before_ =
            bytes->substr(bytes->size() - std::min(bytes->size(), kBefore));
        return *std::move(bytes);
      }
    }
    if (!OpenNext()) return "";
  }
}

// Opens the file after the one that was read to its end. False: there is none.
bool LogFile::OpenNext() {
  int number = kOlderLogs + 1;
  if (struct stat open = {}; fd_ >= 0 && fstat(fd_, &open) == 0) {
    number = NumberOf(path_, open);
    if (number == 0) return false;
    // All files that are left are newer than one that was removed.
    if (number < 0) number = kOlderLogs + 1;
  }
  while (--number >= 0) {
    if (Open(number, 0)) return true;
  }
  return false;
}

// Whether what was read last is no longer there: it may be longer again.
bool LogFile::WasEmptied() const {
  const auto size = static_cast<int64_t>(before_.size());
  if (size == 0) return false;
  const auto bytes = ReadAt(fd_, path_, offset_ - size, size);
  return bytes.ok() && *bytes != before_;
}

bool LogFile::Open(int number, int64_t offset) {
  const auto fd =
      OpenPlainFile(NameOf(path_, number), "cannot open", O_RDONLY | O_CLOEXEC);
  if (!fd.ok()) return false;
  if (fd_ >= 0) close(fd_);
  fd_ = *fd;
  offset_ = offset;
  if (offset == 0) before_.clear();
  return true;
}

void LogFile::AddLine(const std::string& line, std::vector<LogEntry>& entries) {
  if (std::optional<LogEntry> entry = ParseLogLine(line, source_, zone_)) {
    last_time_ = entry->time;
    last_level_ = entry->level;
    TakeNewest(entries);
    newest_ = *std::move(entry);
  } else if (newest_.has_value()) {
    absl::StrAppend(&newest_->text, "\n", line);
  } else {
    newest_ = LogEntry{.time = last_time_,
                       .level = last_level_,
                       .source = source_,
                       .text = line};
  }
}

// Lines before the first time stamp get the time of that stamp, or the time of
// the file if it has no stamp.
void LogFile::TakeNewest(std::vector<LogEntry>& entries) {
  if (!newest_.has_value()) return;
  if (newest_->time == absl::InfinitePast()) newest_->time = last_time_;
  if (struct stat open = {};
      newest_->time == absl::InfinitePast() && fstat(fd_, &open) == 0) {
    newest_->time = absl::TimeFromTimespec(open.st_mtim);
  }
  entries.push_back(*std::exchange(newest_, std::nullopt));
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
