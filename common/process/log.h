// SPDX-License-Identifier: Apache-2.0
//
// The log of a process: time, level, role and rank, text. INFO writes a few
// lines per minute; numbers have units.
//
//   GANDEM_LOG_INFO("round {}: loss {:.3f}", round, loss);
//
// Lines are text or, for log collectors, JSON objects:
//
//   {"time":"2026-01-31T12:00:00.123Z","level":"info","role":"generator",
//    "rank":1,"text":"..."}
//
// `rank` is omitted if the role has no ranks; `time` is UTC.
//
// Owner: the process. Before InitLogging(), INFO and above go to stderr.
// Thread safety: any thread, once InitLogging() has returned.
// Errors: logging never fails; lines that cannot be written are dropped.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/files/rotation.h"

namespace gandem {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// Names of a level in options and JSON lines, and its letter in text lines.
struct LogLevelNames {
  LogLevel level;
  absl::string_view name;
  char letter;
};
inline constexpr LogLevelNames kLogLevels[] = {
    {LogLevel::kDebug, "debug", 'D'},
    {LogLevel::kInfo, "info", 'I'},
    {LogLevel::kWarn, "warn", 'W'},
    {LogLevel::kError, "error", 'E'}};
inline const LogLevelNames& NamesOf(LogLevel level) {
  return kLogLevels[static_cast<size_t>(level)];
}
// Returns nullopt for an unknown name.
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

struct LogOptions {
  std::string role = {};        // "generator", "gandem" ...
  int rank = -1;                // -1: the role has no ranks
  std::string level = "info";   // debug, info, warn or error
  std::string format = "text";  // or json
  std::string file = {};        // also appended to this file; empty: none
  int64_t max_file_bytes = kMaxLogBytes;  // larger files are rotated
  bool to_stderr = true;
};

//   INVALID_ARGUMENT  an unknown level or format
//   the file's error  it cannot be opened
absl::Status InitLogging(const LogOptions& options);

bool LogEnabled(LogLevel level);

namespace internal {
void LogLine(LogLevel level, absl::string_view line);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  LogLine(level, fmt::format(format, std::forward<Args>(args)...));
}
}  // namespace internal

}  // namespace gandem

template <>
struct fmt::formatter<absl::string_view> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(absl::string_view text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(
        fmt::string_view(text.data(), text.size()), context);
  }
};
// Omits the payloads of a Status, which are for programs.
template <>
struct fmt::formatter<absl::Status> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(const absl::Status& status, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(
        status.ToString(absl::StatusToStringMode::kWithNoExtraData), context);
  }
};

#define GANDEM_INTERNAL_LOG(level, ...)            \
  do {                                             \
    if (::gandem::LogEnabled(level)) {             \
      ::gandem::internal::Log(level, __VA_ARGS__); \
    }                                              \
  } while (false)

#define GANDEM_LOG_DEBUG(...) \
  GANDEM_INTERNAL_LOG(::gandem::LogLevel::kDebug, __VA_ARGS__)
#define GANDEM_LOG_INFO(...) \
  GANDEM_INTERNAL_LOG(::gandem::LogLevel::kInfo, __VA_ARGS__)
#define GANDEM_LOG_WARN(...) \
  GANDEM_INTERNAL_LOG(::gandem::LogLevel::kWarn, __VA_ARGS__)
#define GANDEM_LOG_ERROR(...) \
  GANDEM_INTERNAL_LOG(::gandem::LogLevel::kError, __VA_ARGS__)
