// SPDX-License-Identifier: Apache-2.0
//
// `gandem models`: prints the costs or the layers of network families, or of a
// recipe's networks.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace gandem {

struct ModelsFlags {
  std::string name = {};               // family or recipe; empty: all
  bool summary = false;                // needs a name
  std::vector<std::string> sets = {};  // "field=value"; needs a name
  int64_t image_size = 0;              // 0: each size of the family up to 128
  int64_t channels = 3;
  int64_t classes = 0;
};

void AddModelsCommand(CLI::App& app, int& exit_code);

// Passes the output to `print` in pieces, because a user's network may take
// seconds to create.
//   INVALID_ARGUMENT  the family is unknown, or an option does not fit it.
//   Errors of LoadRunConfig for a recipe.
absl::Status ListModels(const ModelsFlags& flags,
                        absl::FunctionRef<void(const std::string&)> print);

}  // namespace gandem
