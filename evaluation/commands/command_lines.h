// SPDX-License-Identifier: Apache-2.0
//
// The command lines of `gandem sample` and `gandem evaluate`. An added command
// runs when it is parsed and sets `exit_code`.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

void AddSampleCommand(CLI::App& app, int& exit_code);
void AddEvaluateCommand(CLI::App& app, int& exit_code);

// Adds --python to --help and ignores its value: `gandem` has read it before
// it started this process (common/programs/worker_program.h).
void AddPythonOption(CLI::App& command);

// Accepts whole numbers from 0 on, for seeds: CLI11 reads -1 as 2^64 - 1.
CLI::Validator WholeFromZero();

// Prints why `command` failed on standard error and returns the exit code.
int ReportFailure(absl::string_view command, const absl::Status& status);

}  // namespace gandem
