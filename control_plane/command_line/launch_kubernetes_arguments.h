// SPDX-License-Identifier: Apache-2.0
//
// The arguments of `gandem launch kubernetes`.
//
// Owner: the parser of a command line, which calls it while it parses: neither
// copied nor moved. Thread safety: one thread.
// Errors: CLI::ParseError.
#pragma once

#include <optional>

#include "control_plane/deploy_commands/launch_kubernetes.h"

namespace CLI {
class App;
}  // namespace CLI

namespace gandem {

class LaunchKubernetesArguments {
 public:
  // Adds the command to `launch`, which outlives this.
  explicit LaunchKubernetesArguments(CLI::App& launch);
  LaunchKubernetesArguments(const LaunchKubernetesArguments&) = delete;
  LaunchKubernetesArguments& operator=(const LaunchKubernetesArguments&) =
      delete;

  // After parsing. None: another command was given.
  std::optional<LaunchKubernetesOptions> Given() const;

 private:
  CLI::App& command_;
  LaunchKubernetesOptions options_;
};

}  // namespace gandem
