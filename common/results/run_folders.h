// SPDX-License-Identifier: Apache-2.0
//
// What a run writes into, looked at before hours of training find out that it
// cannot be written.
//
// Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace gandem {

// FAILED_PRECONDITION where a name that the run needs for a folder is something
// else, or a link to what is no folder; INVALID_ARGUMENT where a log is a named
// pipe. What is not there yet is made later.
absl::Status CheckRunFolders(const std::string& run_dir);

}  // namespace gandem
