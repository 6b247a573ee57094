// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/files/file.h"
#include "common/files/plain_file.h"
#include "common/files/rotation.h"

namespace gandem {
namespace {

constexpr absl::string_view kStamp = "2026-01-31 12:00:00.123 I ";
constexpr size_t kTimeBytes = kStamp.size() - 3;
constexpr int64_t kPieceBytes = 64 << 10;

std::optional<LogEntry> ParseTextLine(absl::string_view line,
                                      absl::TimeZone zone) {
  if (line.size() < kStamp.size() || line[kTimeBytes] != ' ' ||
      line[kTimeBytes + 2] != ' ') {
    return std::nullopt;
  }
  const auto* const level = std::ranges::find(kLogLevels, line[kTimeBytes + 1],
                                              &LogLevelNames::letter);
  LogEntry entry = {.text = std::string(line)};
  // The check of the dash rejects "infinite-past", which ParseTime accepts.
  if (level == std::end(kLogLevels) || line[4] != '-' ||
      !absl::ParseTime("%Y-%m-%d %H:%M:%E3S", line.substr(0, kTimeBytes), zone,
                       &entry.time, nullptr)) {
    return std::nullopt;
  }
  entry.level = level->level;
  return entry;
}

std::optional<LogEntry> ParseJsonLine(absl::string_view line) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                          /*allow_exceptions=*/false);
  const auto text_of = [&json](const char* field) {
    const auto found = json.find(field);
    return found != json.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
  };
  if (!json.is_object()) return std::nullopt;
  const std::string time = text_of("time");
  const std::optional<LogLevel> level = ParseLogLevel(text_of("level"));
  LogEntry entry = {.text = std::string(line)};
  if (!level.has_value() || time.find('-') != 4 ||
      !absl::ParseTime("%Y-%m-%dT%H:%M:%E*SZ", time, &entry.time, nullptr)) {
    return std::nullopt;
  }
  entry.level = *level;
  return entry;
}

}  // namespace

std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     absl::TimeZone zone) {
  return !line.empty() && line.front() == '{' ? ParseJsonLine(line)
                                              : ParseTextLine(line, zone);
}

LogFile::LogFile(std::string path, std::string name, absl::TimeZone zone)
    : path_(std::move(path)), name_(std::move(name)), zone_(zone) {}

std::vector<LogEntry> LogFile::Read(bool ended) {
  std::string bytes = std::exchange(part_, {});
  if (inode_ == 0) {
    for (int number = kOlderLogs; number >= 1; --number) {
      bytes += ReadFile(RotatedName(path_, number)).value_or("");
    }
  }
  bytes += ReadNewBytes();
  std::vector<absl::string_view> lines = absl::StrSplit(bytes, '\n');
  if (!ended || lines.back().empty()) {
    part_ = std::string(lines.back());
    lines.pop_back();
  }
  std::vector<LogEntry> entries;
  for (const absl::string_view line : lines) AddLine(line, entries);
  // Lines before the first time stamp get the time of that stamp.
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

// Reads the bytes since the last call. After a rotation, also reads the rest of
// the old file under its rotated name.
std::string LogFile::ReadNewBytes() {
  std::string bytes;
  const auto append = [&](int fd) {
    while (true) {
      const auto piece = ReadAt(fd, path_, offset_, kPieceBytes);
      if (!piece.ok() || piece->empty()) return;
      offset_ += static_cast<int64_t>(piece->size());
      bytes += *piece;
    }
  };
  const auto fd = OpenPlainFile(path_, "cannot open", O_RDONLY | O_CLOEXEC);
  if (!fd.ok()) return bytes;
  const absl::Cleanup close_file = [&] { close(*fd); };
  struct stat file = {};
  if (fstat(*fd, &file) != 0) return bytes;
  if (inode_ != 0 && (file.st_ino != inode_ || file.st_size < offset_)) {
    const auto old = OpenPlainFile(RotatedName(path_, 1), "cannot open",
                                   O_RDONLY | O_CLOEXEC);
    if (old.ok()) {
      append(*old);
      close(*old);
    }
    offset_ = 0;
  }
  inode_ = file.st_ino;
  append(*fd);
  return bytes;
}

void LogFile::AddLine(absl::string_view line, std::vector<LogEntry>& entries) {
  if (std::optional<LogEntry> entry = ParseLogLine(line, zone_)) {
    last_time_ = entry->time;
    last_level_ = entry->level;
    entries.push_back(*std::move(entry));
  } else if (!entries.empty()) {
    absl::StrAppend(&entries.back().text, "\n", line);
  } else {
    entries.push_back({.time = last_time_,
                       .level = last_level_,
                       .text = absl::StrCat(name_, ": ", line)});
  }
}

}  // namespace gandem
