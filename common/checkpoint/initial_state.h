// SPDX-License-Identifier: Apache-2.0
//
// Initial state dicts of a run's networks (`gandem train --init_generator`,
// `--init_discriminator`). The run keeps a copy, RUN_DIR/init/generator-CRC32C,
// so it does not need the user's file again.
//
// Thread safety: any thread; `gandem train` has the run folder for itself.
// Errors: those of file.h and below.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// The user's files; empty: not given.
struct InitialStates {
  std::string generator = {};
  std::string discriminator = {};
};

// Copies `given` into the run folder, replacing older copies. `begins`: the run
// has no checkpoint yet. Returns lines for the user about the initial states.
//   FAILED_PRECONDITION  the run has started with another file or with none
absl::StatusOr<std::vector<std::string>> TakeInitialStates(
    const std::string& run_dir, const InitialStates& given, bool begins);

// Returns the copy for `role` ("generator", "discriminator"), or "".
//   DATA_LOSS  the copy has changed
absl::StatusOr<std::string> FindInitialState(const std::string& run_dir,
                                             absl::string_view role);

}  // namespace gandem
