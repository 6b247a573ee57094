// SPDX-License-Identifier: Apache-2.0
//
// Opens files without waiting for another process. A plain open(2) of a named
// pipe blocks until another process opens its other end, without any message
// and deaf to Ctrl-C.
//
// Thread safety: any thread. An unresponsive file system blocks the caller
// until a FilePatience (common/stalls/file_patience.h) ends the process.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Calls open(2) under a FileWait (file_wait.h).
int OpenFile(const std::string& path, int flags, mode_t mode = 0);

// Opens a file without waiting for another process. Accepts unnamed pipes
// (`<(...)` of a shell, /dev/stdin), whose other end is already open. Messages
// start with `action`, for example "cannot open". The caller closes the file.
//   INVALID_ARGUMENT  a named pipe or a socket
//   the file's error  see FileError
absl::StatusOr<int> OpenPlainFile(const std::string& path,
                                  absl::string_view action, int flags,
                                  mode_t mode = 0);

// Returns false if the file that `fd` has open was removed or replaced.
bool IsOpenAs(int fd, const std::string& path);

// Checks a path that a library will open. Returns INVALID_ARGUMENT for a named
// pipe or a socket, OK for everything else and for missing files.
absl::Status CheckIsNoPipe(const std::string& path);

// Returns INVALID_ARGUMENT for a pipe, socket or device, or a file error.
absl::Status CheckIsFileOrFolder(const std::string& path);

// Builds the error for a pipe, a socket or a device; `type` is its st_mode.
absl::Status NoPlainFile(const std::string& path, mode_t type);

}  // namespace gandem
