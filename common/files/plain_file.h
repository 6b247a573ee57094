// SPDX-License-Identifier: Apache-2.0
//
// Opens files without waiting for another process: open(2) of a named pipe
// returns when somebody opens its other end, and until then the caller neither
// says a word nor hears Ctrl-C.
//
// Thread safety: any thread. A file system that does not answer holds the
// caller; a FilePatience (common/stalls/file_patience.h) ends it then.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// open(2), watched as file_wait.h says.
int OpenFile(const std::string& path, int flags, mode_t mode = 0);

// The same without waiting for another process. A pipe without a name (`<(...)`
// of a shell, /dev/stdin) has its other end already. `action` is for the
// message: "cannot open". The caller closes.
//   INVALID_ARGUMENT  a named pipe or a socket.
//   the file's error  as FileError has it.
absl::StatusOr<int> OpenPlainFile(const std::string& path,
                                  absl::string_view action, int flags,
                                  mode_t mode = 0);

// Whether `path` is what `fd` has open: nobody has removed or replaced it.
bool IsOpenAs(int fd, const std::string& path);

// Before others open it. INVALID_ARGUMENT for a named pipe or a socket, OK for
// all else, and for what is not there.
absl::Status CheckIsNoPipe(const std::string& path);

// INVALID_ARGUMENT for a pipe, a socket or a device, and the file's error for
// what is not there.
absl::Status CheckIsFileOrFolder(const std::string& path);

// The error about a pipe, a socket or a device, told by `type` (st_mode).
absl::Status NoPlainFile(const std::string& path, mode_t type);

}  // namespace gandem
