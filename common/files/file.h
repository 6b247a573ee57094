// SPDX-License-Identifier: Apache-2.0
//
// Files and folders as Status.
//
// Thread safety: any thread; two writers of one path race as the operating
// system lets them.
// Errors: the code that fits errno (NOT_FOUND, PERMISSION_DENIED,
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

// "action 'path': strerror(error_number)". A full disk or quota, or a file that
// grows beyond a limit, is RESOURCE_EXHAUSTED and says what to do.
absl::Status FileError(int error_number, absl::string_view action,
                       absl::string_view path);

// The path from the root, without a look at the disk; empty stays empty.
std::string AbsoluteName(const std::string& path);

// The whole file. INVALID_ARGUMENT when it has more than `max_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes = INT64_MAX);

// The bytes of an open file from `offset` on: `size`, or fewer where it ends.
// `path` is for messages.
absl::StatusOr<std::string> ReadAt(int fd, const std::string& path,
                                   int64_t offset, int64_t size);

// The same into `bytes`; how many there were.
absl::StatusOr<size_t> ReadInto(int fd, const std::string& path, int64_t offset,
                                std::span<char> bytes);

// The first bytes: `size`, or fewer where the file is shorter.
absl::StatusOr<std::string> ReadPrefix(const std::string& path, size_t size);

// The last bytes of a file that grows, at most `max_bytes`, none before
// `first_byte`.
absl::StatusOr<std::string> ReadFileTail(const std::string& path,
                                         int64_t max_bytes,
                                         int64_t first_byte = 0);

// Calls `use` for all bytes of the file in order, in pieces of 64 KiB at most.
absl::Status ReadPieces(
    const std::string& path,
    absl::FunctionRef<void(std::span<const std::byte>)> use);

// Creates or replaces. A crash may leave a part of it.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

// Creates or replaces so that a crash at any moment leaves the old or the new
// contents: `path`.tmp, fsync, rename, fsync of the folder.
absl::Status WriteFileDurably(const std::string& path,
                              absl::string_view contents);

// Puts a file that was synced in the place of `to`, so that a crash leaves the
// old or the new one: rename, fsync of the folder.
absl::Status RenameDurably(const std::string& from, const std::string& to);

// `path`.PID.tmp, for a file that several processes may write at the same time:
// write it under this name, then RenameDurably.
std::string TemporaryName(const std::string& path);

// Makes names that were created, renamed or removed in `path` survive a crash.
absl::Status FsyncDirectory(const std::string& path);

// With all parents; OK when it is there.
absl::Status CreateDirectories(const std::string& path);

// Names in the folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& path);

// A file, or a folder with all that is in it; OK when there is nothing. Another
// process may still be writing into it.
absl::Status RemoveAll(const std::string& path);

// The folder that `path` lies in: "a" of "a/b", "." of "b", "/" of "/b".
std::string ParentOf(const std::string& path);

bool PathExists(const std::string& path);

}  // namespace gandem
