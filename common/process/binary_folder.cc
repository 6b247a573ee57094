// SPDX-License-Identifier: Apache-2.0
#include "common/process/binary_folder.h"

#include <limits.h>
#include <unistd.h>

#include <cerrno>

#include "common/files/file.h"

namespace gandem {

absl::StatusOr<std::string> BinaryFolder() {
  constexpr char kSelf[] = "/proc/self/exe";
  std::string path(PATH_MAX, '\0');
  const ssize_t size = readlink(kSelf, path.data(), path.size());
  if (size < 0) return FileError(errno, "cannot read", kSelf);
  path.resize(static_cast<size_t>(size));
  return path.substr(0, path.find_last_of('/'));
}

}  // namespace gandem
