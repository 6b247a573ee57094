// SPDX-License-Identifier: Apache-2.0
//
// The log of a process: time, level, role and rank, text. INFO is a few lines a
// minute for the operator; numbers have units.
//
//   GANDEM_LOG_INFO("round {}: loss {:.3f}", round, loss);
//
// Lines are for people, or a JSON object each for programs that collect logs:
//
//   {"time":"2026-01-31T12:00:00.123Z","level":"info","role":"generator",
//    "rank":1,"text":"..."}
//
// `rank` is left out where the role has none; `time` is UTC.
//
// Owner: the process. Before InitLogging() lines go to stderr from INFO up.
// Thread safety: any thread, once InitLogging() has returned.
// Errors: logging itself never fails; what cannot be written is dropped.
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

// As options, JSON lines and text lines have it.
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
// None: it is no name of a level.
std::optional<LogLevel> ParseLogLevel(absl::string_view name);

struct LogOptions {
  std::string role = {};        // "generator", "gandem" ...
  int rank = -1;                // -1: the role has no ranks
  std::string level = "info";   // debug, info, warn or error
  std::string format = "text";  // or json
  std::string file = {};        // also appended to this file; empty: none
  int64_t max_file_bytes = kMaxLogBytes;  // then it is rotated (rotation.h)
  bool to_stderr = true;
};

//   INVALID_ARGUMENT  an unknown level or format.
//   the file's error  it cannot be opened.
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

// Abseil's types in log lines.
template <>
struct fmt::formatter<absl::string_view> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(absl::string_view text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(
        fmt::string_view(text.data(), text.size()), context);
  }
};
// Payloads of a Status are for programs: a line has the code and the message.
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
