// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/socket_folder.h"

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/file.h"
#include "common/rpc/address.h"

namespace gandem {
namespace {

constexpr size_t kMaxName = 32;

}  // namespace

absl::StatusOr<std::unique_ptr<SocketFolder>> SocketFolder::Create() {
  const char* const tmpdir = std::getenv("TMPDIR");
  std::string parent = tmpdir == nullptr ? "" : tmpdir;
  const std::string suffix = "/gandem-XXXXXX";
  if (parent.empty() || parent.front() != '/' ||
      parent.size() + suffix.size() + 1 + kMaxName > kMaxUnixPath) {
    parent = "/tmp";
  }
  std::string path = parent + suffix;
  if (mkdtemp(path.data()) == nullptr) {
    return FileError(errno, "cannot make a folder for sockets", path);
  }
  return std::unique_ptr<SocketFolder>(new SocketFolder(std::move(path)));
}

SocketFolder::~SocketFolder() { RemoveAll(path_).IgnoreError(); }

std::string SocketFolder::AddressOf(absl::string_view name) const {
  GANDEM_CHECK(name.size() <= kMaxName);
  return absl::StrCat("unix:", path_, "/", name);
}

}  // namespace gandem
