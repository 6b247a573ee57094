// SPDX-License-Identifier: Apache-2.0
#include "common/process/host_identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/file.h"

namespace gandem {
namespace {

constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
constexpr char kNetwork[] = "/proc/self/ns/net";
constexpr int64_t kMaxBootIdBytes = 128;

std::string NameOfHost() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0) return "unknown";
  return name;
}

}  // namespace

HostIdentity ThisHost() {
  HostIdentity host = {.name = NameOfHost()};
  // Without /proc only the host name is known.
  const std::string boot_id = ReadFile(kBootId, kMaxBootIdBytes).value_or("");
  struct stat network = {};
  (void)stat(kNetwork, &network);
  host.text = absl::StrCat(host.name, "/", absl::StripSuffix(boot_id, "\n"),
                           "/", network.st_ino);
  return host;
}

absl::Status WriteHolder(int lock, const std::string& path) {
  const std::string holder =
      absl::StrCat("process ", getpid(), " on ", ThisHost().name, "\n");
  if (ftruncate(lock, 0) == 0 &&
      pwrite(lock, holder.data(), holder.size(), 0) ==
          static_cast<ssize_t>(holder.size())) {
    return absl::OkStatus();
  }
  return FileError(errno, "cannot write", path);
}

std::string HolderIn(const std::string& path) {
  return std::string(
      absl::StripSuffix(ReadFile(path, 4096).value_or(""), "\n"));
}

}  // namespace gandem
