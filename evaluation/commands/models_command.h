// SPDX-License-Identifier: Apache-2.0
//
// `gandem models`: the families of networks with what they cost, or the layers
// of one; the same of the networks of a recipe.
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
  std::vector<std::string> sets = {};  // "field=value" of it
  bool checkpoint_bytes = false;       // nothing else of a recipe
  int64_t image_size = 0;              // 0: each that the family has, up to 128
  int64_t channels = 3;
  int64_t classes = 0;
};

// Runs when it is parsed and sets `exit_code`.
void AddModelsCommand(CLI::App& app, int& exit_code);

// Hands the text that it prints to `print`, piece by piece as it is known: a
// user's networks may take seconds to make.
//   INVALID_ARGUMENT  there is no such family, or what its options are not.
//   those of LoadRunConfig for a recipe.
absl::Status ListModels(const ModelsFlags& flags,
                        absl::FunctionRef<void(const std::string&)> print);

}  // namespace gandem
