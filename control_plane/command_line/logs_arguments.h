// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem logs`.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/logs/logs_command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class LogsArguments {
 public:
  // Adds the command to `app`, which outlives this.
  explicit LogsArguments(CLI::App& app);
  LogsArguments(const LogsArguments&) = delete;
  LogsArguments& operator=(const LogsArguments&) = delete;

  // After parsing. None: another command was given.
  std::optional<LogsOptions> Given() const;

 private:
  CLI::App& command_;
  LogsOptions options_;
};

}  // namespace gandem
