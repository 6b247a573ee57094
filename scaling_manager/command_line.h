// SPDX-License-Identifier: Apache-2.0
//
// The command line of `gandem`. Flags say who and where, never how to train:
// that is the recipe's (style: a test freezes the list of flags).
//
// Thread safety: one thread.
#pragma once

#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace gandem {

struct TrainOptions {
  std::string recipe;
  std::string run_dir;
  std::vector<std::string> sets;  // "path.to.field=value"
  bool colocated = false;
  bool external = false;
  std::string listen;  // empty: a unix socket
  bool insecure_network = false;
};

struct StatusOptions {
  std::string run_dir;
  bool json = false;
};

// `gandem sample ...`: what evaluation_job gets to see.
struct SampleOptions {
  std::vector<std::string> arguments;
};

struct ExplainOptions {
  std::string field;  // empty: list all
};

// Nothing is left to do: help or version was printed, or an error.
struct NoCommand {
  int exit_code = 0;
};

using Command = std::variant<NoCommand, TrainOptions, StatusOptions,
                             SampleOptions, ExplainOptions>;

// Help goes to `out`, errors to `err`.
Command ParseCommandLine(int argc, const char* const* argv, std::ostream& out,
                         std::ostream& err);

// "command --flag" and "command ARGUMENT" of everything that can be given.
std::vector<std::string> AllFlags();

}  // namespace gandem
