// SPDX-License-Identifier: Apache-2.0
//
// `gandem export`: the generator of a run's checkpoint as a file that PyTorch
// loads without gandem (export/script_module.h, export/exported_state.h), with
// a grid of its images and a model card beside it (docs/export.md).
//
// Owner: main. Thread safety: one compute thread.
// Errors: a Status whose message says what to do; nothing escapes. A file is
// replaced as a whole or not at all.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

struct ExportRequest {
  std::string run_dir;  // required
  std::string output;   // required; ends with .pt or .safetensors
  std::optional<int64_t> checkpoint = {};  // step; none: the newest
  bool raw = false;  // the weights themselves, not their average
};

struct ExportReport {
  std::string checkpoint = {};  // folder
  int64_t step = 0;
  std::vector<std::string> warnings = {};   // checkpoints that were skipped ...
  std::vector<std::string> arguments = {};  // of forward; empty: a state dict
  std::string card = {};                    // path
};

// Errors are those of LoadGenerator (images/load_generator.h) and
// MakeScriptModule, those of file.h for what cannot be written, and
//   INVALID_ARGUMENT  what is wrong with the request.
absl::StatusOr<ExportReport> RunExportCommand(const ExportRequest& request);

// Runs when it is parsed and sets `exit_code`.
void AddExportCommand(CLI::App& app, int& exit_code);

}  // namespace gandem
