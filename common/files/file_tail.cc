// SPDX-License-Identifier: Apache-2.0
#include "common/files/file_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "common/files/file.h"

namespace gandem {

absl::StatusOr<std::string> ReadFileTail(const std::string& path,
                                         int64_t max_bytes,
                                         int64_t first_byte) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  const int64_t size = lseek(fd, 0, SEEK_END);
  const int64_t start = std::max(first_byte, size - max_bytes);
  if (size <= start) return "";
  return ReadAt(fd, path, start, size - start);
}

}  // namespace gandem
