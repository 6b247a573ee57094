// SPDX-License-Identifier: Apache-2.0
//
// Whether a file or folder can be opened, asked by a child process: a call into
// a mount that hangs, or to open a pipe that nobody writes to, never returns,
// and no thread that makes it could be ended.
//
// Owner: the function that asks. Thread safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace gandem {

//   NOT_FOUND ...      the system's error.
//   INVALID_ARGUMENT   `path` is a pipe, a device or a socket; says which.
//   DEADLINE_EXCEEDED  its file system has not answered within `limit`.
absl::Status ProbeFile(const std::string& path, absl::Duration limit);

}  // namespace gandem
