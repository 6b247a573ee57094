// SPDX-License-Identifier: Apache-2.0
#include "control_plane/command_line/logs_arguments.h"

#include <CLI/CLI.hpp>

namespace gandem {
namespace {

constexpr char kLogsExamples[] =
    "Lines of all processes that gandem train has started, and its own, in "
    "the\n"
    "order of time. docs/watching.md explains.\n"
    "\n"
    "Examples:\n"
    "  gandem logs runs/a --since 10m\n"
    "  gandem logs runs/a --follow --level warn\n"
    "  gandem logs runs/a --role discriminator --rank 1 --json\n";

}  // namespace

LogsArguments::LogsArguments(CLI::App& app)
    : command_(*app.add_subcommand(
          "logs",
          "Show what all processes of a run say, in the order of time")) {
  command_.footer(kLogsExamples);
  command_.add_option("RUN_DIR", options_.run_dir, "Folder of the run")
      ->required();
  command_.add_flag("--follow", options_.follow,
                    "Go on until the run ends, or Ctrl-C");
  command_.add_option("--since", options_.since,
                      "Leave out what is older: 90s, 1h30m, "
                      "2026-01-31T12:00:00Z or '2026-01-31 12:00:00' [all]");
  command_
      .add_option("--role", options_.role, "Only processes of this role [all]")
      ->check(
          CLI::IsMember({"gandem", "generator", "discriminator", "colocated"}));
  command_
      .add_option("--rank", options_.rank, "Only workers of this rank [all]")
      ->check(CLI::NonNegativeNumber);
  command_
      .add_option("--level", options_.level,
                  "Only lines of this level, and worse ones")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  command_.add_flag("--json", options_.json, "Print a JSON object a line");
}

std::optional<LogsOptions> LogsArguments::Given() const {
  if (!command_.parsed()) return std::nullopt;
  return options_;
}

}  // namespace gandem
