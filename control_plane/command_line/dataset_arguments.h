// SPDX-License-Identifier: Apache-2.0
//
// Arguments of `gandem dataset`.
//
// Owner: the parser of the command line, which keeps pointers into it. Thread
// safety: one thread. Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/command_line/command_line.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class DatasetArguments {
 public:
  // Adds the commands to `app`, which must outlive this object.
  explicit DatasetArguments(CLI::App& app);
  DatasetArguments(const DatasetArguments&) = delete;
  DatasetArguments& operator=(const DatasetArguments&) = delete;

  // Returns the parsed options, or nullopt if another command was given.
  std::optional<DatasetOptions> Given() const;

 private:
  void AddPack();

  CLI::App* command_ = nullptr;
  CLI::App* verify_ = nullptr;
  CLI::App* pack_ = nullptr;
  DatasetOptions options_;
};

}  // namespace gandem
