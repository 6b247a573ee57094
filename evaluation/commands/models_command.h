// SPDX-License-Identifier: Apache-2.0
//
// `gandem models`: the families of networks with what they cost, or the layers
// of one.
//
// Owner: main. Thread safety: one thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gandem {

struct ModelsFlags {
  std::string name = {};               // of a family; empty: all
  bool summary = false;                // needs a name
  std::vector<std::string> sets = {};  // "field=value" of the family's message
  int64_t image_size = 0;              // 0: each that the family has, up to 128
  int64_t channels = 3;
  int64_t classes = 0;
};

// Runs when it is parsed and sets `exit_code`.
void AddModelsCommand(CLI::App& app, int& exit_code);

// The text that it prints.
//   INVALID_ARGUMENT  there is no such family, or what its options are not.
absl::StatusOr<std::string> ModelsText(const ModelsFlags& flags);

}  // namespace gandem
