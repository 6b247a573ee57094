// SPDX-License-Identifier: Apache-2.0
//
// The command lines of `gandem sample` and `gandem evaluate`. Each function
// adds one, which runs when it is parsed and sets `exit_code`.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

void AddSampleCommand(CLI::App& app, int& exit_code);
void AddEvaluateCommand(CLI::App& app, int& exit_code);

// --python, which `gandem` has read before it started this process
// (common/programs/worker_program.h): here it is for --help.
void AddPythonOption(CLI::App& command);

// Of a seed: CLI11 takes -1 for the largest number that there is.
CLI::Validator WholeFromZero();

// Tells the user why `command` failed; returns the exit code.
int ReportFailure(absl::string_view command, const absl::Status& status);

}  // namespace gandem
