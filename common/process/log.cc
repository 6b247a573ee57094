// SPDX-License-Identifier: Apache-2.0
#include "common/process/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/file_wait.h"
#include "common/files/plain_file.h"
#include "common/files/printable.h"
#include "common/status.h"

namespace gandem {
namespace {

// Written before threads start logging.
struct LogShape {
  bool is_json = false;
  std::string role = {};
  int rank = -1;
};

LogShape& Shape() {
  static auto* const shape = new LogShape;  // never destroyed, like the logger
  return *shape;
}

// Both enums have the same order; spdlog has one more level below.
spdlog::level::level_enum ToSpdlog(LogLevel level) {
  return static_cast<spdlog::level::level_enum>(spdlog::level::debug +
                                                static_cast<int>(level));
}

std::shared_ptr<spdlog::logger> MakeLogger(std::vector<spdlog::sink_ptr> sinks,
                                           const LogShape& shape,
                                           spdlog::level::level_enum level) {
  auto logger =
      std::make_shared<spdlog::logger>("gandem", sinks.begin(), sinks.end());
  logger->set_level(level);
  logger->flush_on(spdlog::level::info);
  const std::string who =
      shape.rank < 0 ? shape.role : absl::StrCat(shape.role, "/", shape.rank);
  // Percent signs start a field of spdlog's pattern.
  logger->set_pattern(
      shape.is_json ? "%v"
                    : absl::StrCat("%Y-%m-%d %H:%M:%S.%e %L ",
                                   absl::StrReplaceAll(who, {{"%", "%%"}}),
                                   who.empty() ? "" : ": ", "%v"));
  logger->set_error_handler([](const std::string&) {});
  return logger;
}

// Never destroyed, so that threads may log while the process ends.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>(
      MakeLogger({std::make_shared<spdlog::sinks::stderr_sink_mt>()},
                 LogShape(), spdlog::level::info));
  return *logger;
}

std::string JsonLine(LogLevel level, absl::string_view text) {
  nlohmann::ordered_json line = {
      {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(),
                                absl::UTCTimeZone())},
      {"level", std::string(NamesOf(level).name)},
      {"role", Shape().role}};
  if (Shape().rank >= 0) line["rank"] = Shape().rank;
  line["text"] = std::string(text);
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::optional<LogLevel> ParseLogLevel(absl::string_view name) {
  const auto* const found =
      std::ranges::find(kLogLevels, name, &LogLevelNames::name);
  if (found == std::end(kLogLevels)) return std::nullopt;
  return found->level;
}

// Builds the new logger first, so an error keeps the old one.
absl::Status InitLogging(const LogOptions& options) {
  const std::optional<LogLevel> level = ParseLogLevel(options.level);
  if (!level.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("log level '", options.level,
                     "' is not one of debug, info, warn, error"));
  }
  if (options.format != "text" && options.format != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--log_format '", options.format, "' is neither text nor json"));
  }
  GANDEM_RETURN_IF_ERROR(CheckIsNoPipe(options.file));
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) {
    sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  }
  if (!options.file.empty()) {
    const FileWait wait(options.file);
    try {
      // Names older files like RotatedName().
      sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          options.file, static_cast<size_t>(options.max_file_bytes),
          kOlderLogs));
    } catch (const spdlog::spdlog_ex& error) {
      return absl::PermissionDeniedError(absl::StrCat(
          "cannot write the log '", options.file, "': ", error.what()));
    }
  }
  Shape() = {.is_json = options.format == "json",
             .role = options.role,
             .rank = options.rank};
  Logger() = MakeLogger(std::move(sinks), Shape(), ToSpdlog(*level));
  return absl::OkStatus();
}

bool LogEnabled(LogLevel level) {
  return Logger()->should_log(ToSpdlog(level));
}

namespace internal {

void LogLine(LogLevel level, absl::string_view line) {
  // Lines may quote untrusted text of other processes.
  std::string text = PrintableText(line);
  if (Shape().is_json) text = JsonLine(level, text);
  Logger()->log(ToSpdlog(level),
                spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace internal
}  // namespace gandem
