// SPDX-License-Identifier: Apache-2.0
#include "common/process/binary_folder.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/files/file.h"
#include "common/status.h"

namespace gandem {
namespace {

// Returns null if the variable is unset or empty.
const char* FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

const char* OwnWorker() { return FromEnvironment(kOwnWorkerVariable); }

}  // namespace

absl::StatusOr<std::string> BinaryFolder() {
  const char* const told = FromEnvironment(kBinaryFolderVariable);
  if (told != nullptr) return std::string(told);
  constexpr char kSelf[] = "/proc/self/exe";
  std::string path(PATH_MAX, '\0');
  const ssize_t size = readlink(kSelf, path.data(), path.size());
  if (size < 0) return FileError(errno, "cannot read", kSelf);
  path.resize(static_cast<size_t>(size));
  return path.substr(0, path.find_last_of('/'));
}

bool HasOwnWorker() { return OwnWorker() != nullptr; }

bool IsProgram(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

absl::StatusOr<std::vector<std::string>> ProgramCommand(
    const std::string& folder, const std::string& name) {
  const char* const python = FromEnvironment(kInterpreterVariable);
  if (python != nullptr) {
    return std::vector<std::string>{python, "-m", "gandem.worker", name};
  }
  const char* const own = OwnWorker();
  if (own == nullptr) return std::vector<std::string>{folder + "/" + name};
  if (IsProgram(own)) return std::vector<std::string>{own, name};
  return absl::NotFoundError(absl::StrCat(
      kOwnWorkerVariable, "='", own,
      "' is no program that can be started: build the ",
      "worker program with your networks and name it by its path, or unset ",
      kOwnWorkerVariable, " for gandem's own networks"));
}

absl::Status ShareBinaryFolder() {
  if (OwnWorker() == nullptr) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(const std::string folder, BinaryFolder());
  if (setenv(kBinaryFolderVariable, folder.c_str(), /*replace=*/1) != 0) {
    return FileError(errno, "cannot set", kBinaryFolderVariable);
  }
  return absl::OkStatus();
}

}  // namespace gandem
