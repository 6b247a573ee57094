// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem launch`.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/deploy_commands/launch_options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class LaunchArguments {
 public:
  // Adds the command to `app`, which outlives this.
  explicit LaunchArguments(CLI::App& app);
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // `launch`, for the other clusters.
  CLI::App& command() { return *command_; }
  // After parsing. None: another command was given.
  std::optional<LaunchSlurmOptions> Given() const;

 private:
  void AddRun();
  void AddWatching();
  void AddAllocation();

  CLI::App* const command_;
  CLI::App* const slurm_;
  LaunchSlurmOptions options_;
};

}  // namespace gandem
