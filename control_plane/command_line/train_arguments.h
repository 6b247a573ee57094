// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem train`.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>
#include <string>

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class TrainArguments {
 public:
  // Adds the command to `app`, which outlives this.
  explicit TrainArguments(CLI::App& app);
  TrainArguments(const TrainArguments&) = delete;
  TrainArguments& operator=(const TrainArguments&) = delete;

  // After parsing. None: another command was given.
  std::optional<TrainOptions> Given() const;

 private:
  void AddPlan();

  CLI::App& command_;
  TrainOptions options_;
  std::string bind_cores_ = "auto";
};

}  // namespace gandem
