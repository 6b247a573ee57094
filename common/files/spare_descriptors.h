// SPDX-License-Identifier: Apache-2.0
//
// Descriptors for files where the process has used up its own: by connections
// of whoever. A few are kept open for nothing, and one is given up for each
// file that would find none left: a checkpoint is written whatever else is.
// And files that are opened without waiting for another process.
//
// Thread safety: any thread.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// How many files at once have one.
inline constexpr int kSpareDescriptors = 8;

// Keeps them from now on. A process that never calls it has none.
void KeepSpareDescriptors();

// open(2) that gives up a spare descriptor when there is no other. Those that
// were given up are taken back as soon as there is room.
int OpenFile(const std::string& path, int flags, mode_t mode = 0);

// Gives one up, for what is opened in another way. False: none is left.
bool GiveUpSpareDescriptor();

// The same without waiting: open(2) of a named pipe would return when somebody
// opens its other end, and until then neither says a word nor hears Ctrl-C. A
// pipe without a name (`<(...)` of a shell, /dev/stdin) has its other end
// already. `action` is for the message: "cannot open". The caller closes.
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

// The error about a pipe, a socket or a device, told by `type` (st_mode).
absl::Status NoPlainFile(const std::string& path, mode_t type);

}  // namespace gandem
