// SPDX-License-Identifier: Apache-2.0
//
// Files that only ever grow, kept from filling a disk: what stands in
// "metrics.jsonl" becomes "metrics.1.jsonl", what stood there
// "metrics.2.jsonl", and so on, until the oldest goes.
//
// Thread safety: any thread; a file has one that rotates it.
// Errors: those of common/files/file.h. What could not be moved is still there
// under one of the names.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace gandem {

// Maximum size of a process's log in bytes; kOlderLogs older files are kept.
inline constexpr int64_t kMaxLogBytes = int64_t{16} << 20;
inline constexpr int kOlderLogs = 3;

// "logs/a.log", 2: "logs/a.2.log".
std::string RotatedName(const std::string& path, int number);

// Frees the name `path`. OK when nothing has it. `older`: how many stay, >= 1.
absl::Status RotateFile(const std::string& path, int older);

// The same for a file that another process has open, in which it appends
// (O_APPEND): a copy moves, and the file is empty then. What is appended in the
// moment between is lost.
absl::Status RotateOpenFile(const std::string& path, int older);

// 0: there is no such file.
int64_t FileSize(const std::string& path);

// Removes files of `folder` whose names start with `prefix`, in the order of
// the names, until the rest has `max_bytes` at most. The last one stays.
absl::Status RemoveOldest(const std::string& folder, absl::string_view prefix,
                          int64_t max_bytes);

}  // namespace gandem
