// SPDX-License-Identifier: Apache-2.0
//
// Rotates growing files to limit their disk use: renames "metrics.jsonl" to
// "metrics.1.jsonl", that to "metrics.2.jsonl" and so on, without the oldest.
//
// Thread safety: any thread; only one thread may rotate a given file.
// Errors: those of common/files/file.h. A file that could not be moved keeps
// its old name.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Maximum size of a process's log in bytes; kOlderLogs older files are kept.
inline constexpr int64_t kMaxLogBytes = int64_t{16} << 20;
inline constexpr int kOlderLogs = 3;

// Returns "logs/a.2.log" for "logs/a.log" and 2.
std::string RotatedName(const std::string& path, int number);

// Renames `path` and keeps `older` >= 1 older files. OK if `path` is missing.
absl::Status RotateFile(const std::string& path, int older);

// Rotates a file to which another process is appending (O_APPEND): copies the
// contents and truncates the file. Lines appended during the copy are lost.
absl::Status RotateOpenFile(const std::string& path, int older);

// Returns 0 if the file does not exist.
int64_t FileSize(const std::string& path);

// Removes files of `folder` whose names start with `prefix`, in order of name,
// until the rest has at most `max_bytes`. Always keeps the last one.
absl::Status RemoveOldest(const std::string& folder, absl::string_view prefix,
                          int64_t max_bytes);

}  // namespace gandem
