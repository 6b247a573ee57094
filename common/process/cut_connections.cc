// SPDX-License-Identifier: Apache-2.0
#include "common/process/cut_connections.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/files/file.h"

namespace gandem {
namespace {

using GetName = int (*)(int, sockaddr*, socklen_t*);

// Empty: not connected, no socket, or one without a name.
std::string NameOf(int fd, GetName get_name) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (get_name(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  if (address.ss_family == AF_INET || address.ss_family == AF_INET6) {
    return "tcp";
  }
  constexpr size_t kPath = offsetof(sockaddr_un, sun_path);
  if (address.ss_family != AF_UNIX || size <= kPath) return "";
  const auto* const unix_address =
      reinterpret_cast<const sockaddr_un*>(&address);
  return {unix_address->sun_path,
          strnlen(unix_address->sun_path,
                  std::min<size_t>(size - kPath, sizeof(sockaddr_un) - kPath))};
}

// A listening socket has no peer, and stays.
bool IsConnected(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  return getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
}

}  // namespace

void CutConnections(absl::string_view part) {
  const auto names = ListDirectory("/proc/self/fd");
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    int fd = -1;
    if (!absl::SimpleAtoi(name, &fd) || !IsConnected(fd)) continue;
    // The server's path is the name of its own end.
    std::string connection = NameOf(fd, getpeername);
    if (connection.empty()) connection = NameOf(fd, getsockname);
    if (connection.empty() || !absl::StrContains(connection, part)) continue;
    shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace gandem
