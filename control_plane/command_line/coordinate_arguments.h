// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem coordinate`: `gandem train` for workers on other
// hosts.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class CoordinateArguments {
 public:
  // Adds the command to `app`, which outlives this.
  explicit CoordinateArguments(CLI::App& app);
  CoordinateArguments(const CoordinateArguments&) = delete;
  CoordinateArguments& operator=(const CoordinateArguments&) = delete;

  // After parsing. None: another command was given.
  std::optional<TrainOptions> Given() const;

 private:
  CLI::App& command_;
  TrainOptions options_;
};

}  // namespace gandem
