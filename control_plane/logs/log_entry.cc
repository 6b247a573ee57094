// SPDX-License-Identifier: Apache-2.0
#include "control_plane/logs/log_entry.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/files/printable.h"

namespace gandem {
namespace {

constexpr absl::string_view kStamp = "2026-01-31 12:00:00.123 I ";
constexpr size_t kTimeBytes = kStamp.size() - 3;

std::optional<LogEntry> ParseTextLine(absl::string_view line,
                                      const LogSource& source,
                                      absl::TimeZone zone) {
  if (line.size() < kStamp.size() || line[kTimeBytes] != ' ' ||
      line[kTimeBytes + 2] != ' ') {
    return std::nullopt;
  }
  const auto* const level = std::ranges::find(kLogLevels, line[kTimeBytes + 1],
                                              &LogLevelNames::letter);
  LogEntry entry = {.source = source};
  // ParseTime also accepts "infinite-past", so the dash is checked.
  if (level == std::end(kLogLevels) || line[4] != '-' ||
      !absl::ParseTime("%Y-%m-%d %H:%M:%E3S", line.substr(0, kTimeBytes), zone,
                       &entry.time, nullptr)) {
    return std::nullopt;
  }
  entry.level = level->level;
  line.remove_prefix(kStamp.size());
  absl::ConsumePrefix(&line, absl::StrCat(ToString(source), ": "));
  entry.text = std::string(line);
  return entry;
}

std::optional<LogEntry> ParseJsonLine(absl::string_view line,
                                      const LogSource& source) {
  const auto json = nlohmann::json::parse(line.begin(), line.end(), nullptr,
                                          /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto text_of = [&json](const char* field) {
    const auto found = json.find(field);
    return found != json.end() && found->is_string()
               ? std::optional(found->get<std::string>())
               : std::nullopt;
  };
  const std::optional<std::string> time = text_of("time");
  const std::optional<LogLevel> level =
      ParseLogLevel(text_of("level").value_or(""));
  LogEntry entry = {.source = source, .text = text_of("text").value_or("")};
  if (!level.has_value() || !time.has_value() ||
      !absl::ParseTime("%Y-%m-%dT%H:%M:%E*SZ", *time, &entry.time, nullptr) ||
      entry.time == absl::InfinitePast() ||
      entry.time == absl::InfiniteFuture()) {
    return std::nullopt;
  }
  entry.level = *level;
  return entry;
}

}  // namespace

std::string ToString(const LogSource& source) {
  return source.rank < 0 ? source.role
                         : absl::StrCat(source.role, "/", source.rank);
}

std::optional<LogEntry> ParseLogLine(absl::string_view line,
                                     const LogSource& source,
                                     absl::TimeZone zone) {
  return !line.empty() && line.front() == '{'
             ? ParseJsonLine(line, source)
             : ParseTextLine(line, source, zone);
}

std::string LogText(const LogEntry& entry, absl::TimeZone zone) {
  return absl::StrCat(
      absl::FormatTime("%Y-%m-%d %H:%M:%E3S", entry.time, zone), " ",
      absl::string_view(&NamesOf(entry.level).letter, 1), " ",
      ToString(entry.source), ": ",
      absl::StrReplaceAll(PrintableText(entry.text), {{"\n", "\n  | "}}));
}

std::string LogJson(const LogEntry& entry) {
  nlohmann::ordered_json line = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", entry.time,
                                absl::UTCTimeZone())},
      {"level", std::string(NamesOf(entry.level).name)},
      {"role", entry.source.role}};
  if (entry.source.rank >= 0) line["rank"] = entry.source.rank;
  line["text"] = PrintableText(entry.text);
  return line.dump();
}

}  // namespace gandem
