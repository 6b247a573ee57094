// SPDX-License-Identifier: Apache-2.0
//
// The state dicts that a run's networks begin with (`gandem train
// --init_generator`, `--init_discriminator`). The run keeps a copy of each
// file, RUN_DIR/init/generator-CRC32C, so that it needs the user's no more.
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

// Files of the user; empty: not given.
struct InitialStates {
  std::string generator = {};
  std::string discriminator = {};
};

// Copies what is given into the run folder, in place of what it has. `begins`:
// the run has no checkpoint yet. Returns lines for the user on what the run
// kept from before and begins with.
//   FAILED_PRECONDITION  the run has begun, with another file or with none.
absl::StatusOr<std::vector<std::string>> TakeInitialStates(
    const std::string& run_dir, const InitialStates& given, bool begins);

// Path of the copy for `role` ("generator", "discriminator"); empty: none.
//   DATA_LOSS  its bytes are not those that were copied.
absl::StatusOr<std::string> FindInitialState(const std::string& run_dir,
                                             absl::string_view role);

}  // namespace gandem
