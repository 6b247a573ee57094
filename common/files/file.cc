// SPDX-License-Identifier: Apache-2.0
#include "common/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/file_wait.h"
#include "common/files/file_writer.h"
#include "common/files/plain_file.h"
#include "common/status.h"

namespace gandem {

absl::Status FileError(int error_number, absl::string_view action,
                       absl::string_view path) {
  const std::string what = absl::StrCat(action, " '", path, "'");
  const auto error = [&](absl::StatusCode code, absl::string_view remedy) {
    return absl::Status(
        code,
        absl::StrCat(what, ": ", std::generic_category().message(error_number),
                     "; ", remedy));
  };
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return error(absl::StatusCode::kResourceExhausted,
                   "free some space there");
    case EMFILE:
    case ENFILE:
      return error(absl::StatusCode::kResourceExhausted,
                   "raise the limit of open files (ulimit -Hn)");
    // Abseil's codes for these errors would blame the path, the call or a peer.
    case ENOTCONN:
    case ETIMEDOUT:
    case ESTALE:
      return error(absl::StatusCode::kUnavailable,
                   "is its file system still mounted?");
    case ELOOP:  // Abseil: UNKNOWN
      return error(absl::StatusCode::kInvalidArgument,
                   "its links lead in a circle");
    case EFBIG:  // Abseil: OUT_OF_RANGE
      return error(absl::StatusCode::kResourceExhausted,
                   "raise the limit of a file's size (ulimit -f), or use a "
                   "file system without it");
    default:
      return absl::ErrnoToStatus(error_number, what);
  }
}

std::string AbsoluteName(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;  // if the working folder was removed
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t max_bytes) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd, OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC));
  const absl::Cleanup close_file = [fd] { close(fd); };
  std::string contents;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    contents.reserve(
        static_cast<size_t>(std::min<int64_t>(info.st_size, max_bytes)));
  }
  char buffer[1 << 16];
  while (true) {
    const FileWait wait(path);
    const ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(errno, "cannot read", path);
    if (size == 0) return contents;
    // Counted while reading because pipes and /proc files have no size.
    if (size > max_bytes - static_cast<int64_t>(contents.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "' has more than ", max_bytes, " bytes"));
    }
    contents.append(buffer, static_cast<size_t>(size));
  }
}

absl::StatusOr<std::string> ReadAt(int fd, const std::string& path,
                                   int64_t offset, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  GANDEM_ASSIGN_OR_RETURN(const size_t done, ReadInto(fd, path, offset, bytes));
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<size_t> ReadInto(int fd, const std::string& path, int64_t offset,
                                std::span<char> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const FileWait wait(path);
    const ssize_t got = pread(fd, bytes.data() + done, bytes.size() - done,
                              offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "cannot read", path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

absl::StatusOr<std::string> ReadPrefix(const std::string& path, size_t size) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd, OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC));
  const absl::Cleanup close_file = [fd] { close(fd); };
  return ReadAt(fd, path, 0, static_cast<int64_t>(size));
}

absl::StatusOr<std::string> ReadFileTail(const std::string& path,
                                         int64_t max_bytes,
                                         int64_t first_byte) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd, OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC));
  const absl::Cleanup close_file = [fd] { close(fd); };
  const int64_t size = lseek(fd, 0, SEEK_END);
  const int64_t start = std::max(first_byte, size - max_bytes);
  if (size <= start) return "";
  return ReadAt(fd, path, start, size - start);
}

absl::Status ReadPieces(
    const std::string& path,
    absl::FunctionRef<void(std::span<const std::byte>)> use) {
  GANDEM_ASSIGN_OR_RETURN(
      const int fd, OpenPlainFile(path, "cannot open", O_RDONLY | O_CLOEXEC));
  const absl::Cleanup close_file = [fd] { close(fd); };
  // Larger pieces are not faster and would stay in malloc's arenas.
  constexpr size_t kPiece = size_t{64} << 10;
  std::vector<std::byte> buffer(kPiece);
  while (true) {
    ssize_t size = 0;
    {
      const FileWait wait(path);
      size = read(fd, buffer.data(), buffer.size());
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return FileError(errno, "cannot read", path);
    if (size == 0) return absl::OkStatus();
    use(std::span(buffer).first(static_cast<size_t>(size)));
  }
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  GANDEM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path));
  GANDEM_RETURN_IF_ERROR(writer.Append(contents));
  return writer.Close().status();
}

// Syncs the new file before renaming it.
absl::Status WriteFileDurably(const std::string& path,
                              absl::string_view contents) {
  const std::string temporary = path + ".tmp";
  absl::Cleanup remove_temporary = [&temporary] { unlink(temporary.c_str()); };
  GANDEM_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(temporary));
  GANDEM_RETURN_IF_ERROR(writer.Append(contents));
  GANDEM_RETURN_IF_ERROR(writer.Sync());
  GANDEM_RETURN_IF_ERROR(writer.Close());
  GANDEM_RETURN_IF_ERROR(RenameDurably(temporary, path));
  std::move(remove_temporary).Cancel();
  return absl::OkStatus();
}

// Renaming changes the folder, so only its fsync makes the new name durable.
absl::Status RenameDurably(const std::string& from, const std::string& to) {
  {
    const FileWait wait(to);
    if (rename(from.c_str(), to.c_str()) != 0) {
      return FileError(errno, "cannot rename a new file to", to);
    }
  }
  return FsyncDirectory(ParentOf(to));
}

std::string TemporaryName(const std::string& path) {
  return absl::StrCat(path, ".", getpid(), ".tmp");
}

absl::Status FsyncDirectory(const std::string& path) {
  const FileWait wait(path, FileWait::kSyncPatience);
  const int fd = OpenFile(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "cannot open folder", path);
  const absl::Cleanup close_file = [fd] { close(fd); };
  if (fsync(fd) != 0) return FileError(errno, "cannot fsync folder", path);
  return absl::OkStatus();
}

absl::Status CreateDirectories(const std::string& path) {
  const FileWait wait(path);
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return FileError(error.value(), "cannot create folder", path);
  if (!std::filesystem::is_directory(path, error)) {
    return FileError(ENOTDIR, "cannot create folder", path);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListDirectory(
    const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry;
  {
    const FileWait wait(path);
    entry = std::filesystem::directory_iterator(path, error);
  }
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    const FileWait wait(path);
    entry.increment(error);
  }
  if (error) return FileError(error.value(), "cannot list folder", path);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RemoveAll(const std::string& path) {
  const FileWait wait(path, FileWait::kSyncPatience);
  // Retries because other processes may create or rename entries meanwhile.
  constexpr int kAttempts = 20;
  std::error_code error;
  for (int i = 0; i < kAttempts; ++i) {
    std::filesystem::remove_all(path, error);
    if (!error) return absl::OkStatus();
    if (error != std::errc::no_such_file_or_directory &&
        error != std::errc::directory_not_empty) {
      break;
    }
  }
  return FileError(error.value(), "cannot remove", path);
}

std::string ParentOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool PathExists(const std::string& path) {
  const FileWait wait(path);
  return access(path.c_str(), F_OK) == 0;
}

}  // namespace gandem
