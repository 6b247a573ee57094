// SPDX-License-Identifier: Apache-2.0
//
// The command lines of `gandem evaluate` and of its workers.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "evaluation/commands/evaluate_command.h"

namespace gandem {

struct EvaluateFlags {
  EvaluateRequest request;
  int64_t checkpoint = 0;
  uint64_t seed = 0;
  int64_t num = 0;
  int workers = 0;
  std::string cores = {};
  bool quiet = false;
};

CLI::App* AddEvaluateCommand(CLI::App& app, EvaluateFlags& flags);
// Returns the exit code.
int RunEvaluate(const CLI::App& command, EvaluateFlags flags);

// `evaluation_job extract`, which no user starts.
struct ExtractFlags {
  std::string folder;
  int64_t num = 0;
  int worker = 0;
  int workers = 1;
};

CLI::App* AddExtractCommand(CLI::App& app, ExtractFlags& flags);
int RunExtract(const ExtractFlags& flags);

}  // namespace gandem
