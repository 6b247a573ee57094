// SPDX-License-Identifier: Apache-2.0
#include "common/files/rotation.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_wait.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

// Returns OK if `from` does not exist.
absl::Status MoveIfThere(const std::string& from, const std::string& to) {
  const FileWait wait(from);
  if (rename(from.c_str(), to.c_str()) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return FileError(errno, "cannot move", from);
}

// Renames the oldest files first, to free the name of the newest.
absl::Status ShiftOlder(const std::string& path, int older) {
  for (int number = older - 1; number >= 1; --number) {
    GANDEM_RETURN_IF_ERROR(
        MoveIfThere(RotatedName(path, number), RotatedName(path, number + 1)));
  }
  return absl::OkStatus();
}

}  // namespace

std::string RotatedName(const std::string& path, int number) {
  const std::filesystem::path name = path;
  return absl::StrCat((name.parent_path() / name.stem()).string(), ".", number,
                      name.extension().string());
}

absl::Status RotateFile(const std::string& path, int older) {
  if (!PathExists(path)) return absl::OkStatus();
  GANDEM_RETURN_IF_ERROR(ShiftOlder(path, older));
  return MoveIfThere(path, RotatedName(path, 1));
}

absl::Status RotateOpenFile(const std::string& path, int older) {
  const std::string copy = TemporaryName(path);
  std::error_code error;
  std::filesystem::copy_file(
      path, copy, std::filesystem::copy_options::overwrite_existing, error);
  if (error) {
    (void)RemoveAll(copy);
    return FileError(error.value(), "cannot copy", path);
  }
  GANDEM_RETURN_IF_ERROR(ShiftOlder(path, older));
  GANDEM_RETURN_IF_ERROR(MoveIfThere(copy, RotatedName(path, 1)));
  if (truncate(path.c_str(), 0) == 0) return absl::OkStatus();
  return FileError(errno, "cannot empty", path);
}

int64_t FileSize(const std::string& path) {
  const FileWait wait(path);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

absl::Status RemoveOldest(const std::string& folder, absl::string_view prefix,
                          int64_t max_bytes) {
  GANDEM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder));
  std::vector<std::string> paths;
  int64_t bytes = 0;
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, prefix)) continue;
    paths.push_back(absl::StrCat(folder, "/", name));
    bytes += FileSize(paths.back());
  }
  for (size_t i = 0; i + 1 < paths.size() && bytes > max_bytes; ++i) {
    bytes -= FileSize(paths[i]);
    GANDEM_RETURN_IF_ERROR(RemoveAll(paths[i]));
  }
  return absl::OkStatus();
}

}  // namespace gandem
