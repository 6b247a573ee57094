// SPDX-License-Identifier: Apache-2.0
//
// File system operations that report errors as Status.
//
// Thread safety: any thread; concurrent writers of one path are not
// synchronized.
// Errors: the status code for errno (NOT_FOUND, PERMISSION_DENIED,
// RESOURCE_EXHAUSTED for a full disk ...), with the path in the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Returns "action 'path': strerror(error_number)", RESOURCE_EXHAUSTED with
// advice for a full disk or quota or a file above the size limit.
absl::Status FileError(int error_number, absl::string_view action,
                       absl::string_view path);

// Returns the absolute path without access to the disk; empty stays empty.
std::string AbsoluteName(const std::string& path);

// Returns INVALID_ARGUMENT if the file has more than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes = INT64_MAX);

// Reads `size` bytes from `offset`, fewer at the end. `path`: for messages.
absl::StatusOr<std::string> ReadAt(int fd, const std::string& path,
                                   int64_t offset, int64_t size);

// Reads into `bytes` and returns the number of bytes read.
absl::StatusOr<size_t> ReadInto(int fd, const std::string& path, int64_t offset,
                                std::span<char> bytes);

// Returns the first `size` bytes, or the whole file if it is shorter.
absl::StatusOr<std::string> ReadPrefix(const std::string& path, size_t size);

// Returns the last bytes of a file that may be growing: at most `max_bytes`,
// none before offset `first_byte`.
absl::StatusOr<std::string> ReadFileTail(const std::string& path,
                                         int64_t max_bytes,
                                         int64_t first_byte = 0);

// Passes the whole file to `use` in order, in pieces of at most 64 KiB.
absl::Status ReadPieces(
    const std::string& path,
    absl::FunctionRef<void(std::span<const std::byte>)> use);

// Creates or replaces the file. A crash may leave it incomplete.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Creates or replaces the file atomically: writes `path`.tmp, syncs, renames
// and syncs the folder. After a crash the file has the old or the new contents.
absl::Status WriteFileDurably(const std::string& path,
                              absl::string_view contents);

// Replaces `to` by a synced file, atomically: renames and syncs the folder.
absl::Status RenameDurably(const std::string& from, const std::string& to);

// Returns `path`.PID.tmp. Processes that may write the same file at the same
// time write to this name, then call RenameDurably.
std::string TemporaryName(const std::string& path);

// Makes created, renamed or removed names in `path` survive a crash.
absl::Status FsyncDirectory(const std::string& path);

// Creates the folder and its parents if they do not exist.
absl::Status CreateDirectories(const std::string& path);

// Returns sorted names, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);

// Removes a file or a folder with its contents, even while another process is
// writing into it. OK if nothing exists.
absl::Status RemoveAll(const std::string& path);

// Returns the parent folder: "a" of "a/b", "." of "b", "/" of "/b".
std::string ParentOf(const std::string& path);

bool PathExists(const std::string& path);

}  // namespace gandem
