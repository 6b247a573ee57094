// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem dataset`.
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

class DatasetArguments {
 public:
  // Adds the commands to `app`, which outlives this.
  explicit DatasetArguments(CLI::App& app);
  DatasetArguments(const DatasetArguments&) = delete;
  DatasetArguments& operator=(const DatasetArguments&) = delete;

  // After parsing. None: another command was given.
  std::optional<DatasetOptions> Given() const;

 private:
  void AddPack();

  CLI::App* command_ = nullptr;
  CLI::App* verify_ = nullptr;
  CLI::App* pack_ = nullptr;
  DatasetOptions options_;
};

}  // namespace gandem
