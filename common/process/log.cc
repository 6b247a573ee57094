// SPDX-License-Identifier: Apache-2.0
#include "common/process/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::optional<LogLevel> ParseLevel(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  if (name == "error") return LogLevel::kError;
  return std::nullopt;
}

std::shared_ptr<spdlog::logger> MakeLogger(std::vector<spdlog::sink_ptr> sinks,
                                           absl::string_view who,
                                           LogLevel level) {
  auto logger =
      std::make_shared<spdlog::logger>("gandem", sinks.begin(), sinks.end());
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::info);
  // In spdlog's pattern a percent sign starts a field.
  logger->set_pattern(absl::StrCat("%Y-%m-%d %H:%M:%S.%e %L ",
                                   absl::StrReplaceAll(who, {{"%", "%%"}}),
                                   who.empty() ? "" : ": ", "%v"));
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

// Leaked, so that threads may log while the process ends.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>(
      MakeLogger({std::make_shared<spdlog::sinks::stderr_sink_mt>()}, "",
                 LogLevel::kInfo));
  return *logger;
}

}  // namespace

// Builds a new logger before it replaces the old one, so that a fault leaves
// that in place.
absl::Status InitLogging(const LogOptions& options) {
  const std::optional<LogLevel> level = ParseLevel(options.level);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log level '", options.level,
                     "' is not one of debug, info, warn, error"));
  }
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) {
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  if (!options.file.empty()) {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(
          options.file, /*truncate=*/false));
    } catch (const spdlog::spdlog_ex& error) {
      return absl::PermissionDeniedError(absl::StrCat(
          "cannot write the log '", options.file, "': ", error.what()));
    }
  }
  const std::string who = options.rank < 0
                              ? options.role
                              : absl::StrCat(options.role, "/", options.rank);
  Logger() = MakeLogger(std::move(sinks), who, *level);
  return absl::OkStatus();
}

bool LogEnabled(LogLevel level) {
  return Logger()->should_log(ToSpdlog(level));
}

namespace internal {

void LogLine(LogLevel level, absl::string_view line) {
  Logger()->log(ToSpdlog(level),
                spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace internal
}  // namespace gandem
