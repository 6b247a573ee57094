// SPDX-License-Identifier: Apache-2.0
//
// `gandem export`: writes the generator of a checkpoint as a file that PyTorch
// loads without gandem (export/script_module.h, export/exported_state.h), with
// a grid of images and a model card (docs/export.md). Replaces each file
// atomically.
//
// Owner: main. Thread safety: one compute thread.
// Errors: a Status with advice. No exceptions.
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
  std::optional<int64_t> checkpoint = {};  // step; unset: the newest
  bool raw = false;  // the last weights instead of their average
};

struct ExportReport {
  std::string checkpoint = {};  // folder
  int64_t step = 0;
  std::vector<std::string> warnings = {};   // such as skipped checkpoints
  std::vector<std::string> arguments = {};  // of forward; empty: a state dict
  std::string card = {};                    // path of the model card
};

// Errors: those of LoadGenerator (images/load_generator.h), MakeScriptModule
// and file.h, and
//   INVALID_ARGUMENT  the request is wrong.
absl::StatusOr<ExportReport> RunExportCommand(const ExportRequest& request);

void AddExportCommand(CLI::App& app, int& exit_code);

}  // namespace gandem
