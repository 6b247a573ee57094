// SPDX-License-Identifier: Apache-2.0
//
// Command lines of `gandem sample` and `gandem evaluate`. A command runs while
// CLI11 parses it, and sets `exit_code`.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

void AddSampleCommand(CLI::App& app, int& exit_code);
void AddEvaluateCommand(CLI::App& app, int& exit_code);

// Adds --python to the help text. Its value is ignored here, because `gandem`
// has used it to start this process (common/programs/worker_program.h).
void AddPythonOption(CLI::App& command);

// Accepts only numbers >= 0: CLI11 would read the seed -1 as 2^64 - 1.
CLI::Validator WholeFromZero();

// Prints the error of `command` on standard error and returns the exit code.
int ReportFailure(absl::string_view command, const absl::Status& status);

}  // namespace gandem
