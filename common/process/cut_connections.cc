// SPDX-License-Identifier: Apache-2.0
#include "common/process/cut_connections.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/files/file.h"

namespace gandem {
namespace {

using GetName = int (*)(int, sockaddr*, socklen_t*);

// Returns nullopt if `fd` is not a connected socket, "" for an unnamed socket.
std::optional<std::string> NameOf(int fd, GetName get_name) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (get_name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return std::nullopt;
  }
  if (address.ss_family == AF_INET || address.ss_family == AF_INET6) {
    return "tcp";
  }
  constexpr size_t kPath = offsetof(sockaddr_un, sun_path);
  if (address.ss_family != AF_UNIX || size <= kPath) return "";
  const auto* const unix_address =
      reinterpret_cast<const sockaddr_un*>(&address);
  return std::string(
      unix_address->sun_path,
      strnlen(unix_address->sun_path,
              std::min<size_t>(size - kPath, sizeof(sockaddr_un) - kPath)));
}

}  // namespace

void CutConnections(absl::string_view part) {
  const auto names = ListDirectory("/proc/self/fd");
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    int fd = -1;
    if (!absl::SimpleAtoi(name, &fd)) continue;
    // Skips listening sockets, which have no peer.
    std::optional<std::string> connection = NameOf(fd, getpeername);
    if (!connection.has_value()) continue;
    // At the server, the path is the name of its own end.
    if (connection->empty()) connection = NameOf(fd, getsockname).value_or("");
    if (connection->empty() || !absl::StrContains(*connection, part)) continue;
    shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace gandem
