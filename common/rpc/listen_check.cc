// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace gandem {
namespace {

std::string CannotListen(const Address& address) {
  return absl::StrCat("cannot listen on ", ToString(address));
}

sockaddr_un UnixSocketAddress(const Address& address) {
  sockaddr_un result = {};
  result.sun_family = AF_UNIX;
  std::memcpy(result.sun_path, address.unix_path.data(),
              address.unix_path.size());
  return result;
}

absl::Status InUse(const Address& address) {
  return absl::AlreadyExistsError(absl::StrCat(
      CannotListen(address),
      ": another process does; stop it or choose another address"));
}

absl::Status TryUnix(const Address& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a unix socket");
  const absl::Cleanup close_socket = [fd] { close(fd); };
  const sockaddr_un name = UnixSocketAddress(address);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) {
    return absl::ErrnoToStatus(errno, CannotListen(address));
  }
  unlink(address.unix_path.c_str());
  return absl::OkStatus();
}

// A name may stand for several addresses; like gRPC's, a server needs one.
absl::Status TryTcp(const Address& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (failed != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(CannotListen(address), ": ", gai_strerror(failed)));
  }
  const absl::Cleanup free_list = [list] { freeaddrinfo(list); };
  int error = 0;  // the first one
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const int fd = socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const absl::Cleanup close_socket = [fd] {
      if (fd >= 0) close(fd);
    };
    const int yes = 1;  // as gRPC does: connections in TIME_WAIT do not count
    if (fd >= 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(fd, entry->ai_addr, entry->ai_addrlen) == 0 &&
        listen(fd, 1) == 0) {
      return absl::OkStatus();
    }
    if (error == 0) error = errno;
  }
  if (error == EADDRINUSE) return InUse(address);
  return absl::ErrnoToStatus(error, CannotListen(address));
}

}  // namespace

absl::Status CheckUnixSocketIsFree(const Address& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a unix socket");
  const absl::Cleanup close_socket = [fd] { close(fd); };
  const sockaddr_un name = UnixSocketAddress(address);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
          0 ||
      errno == EAGAIN) {  // EAGAIN: its backlog is full
    return InUse(address);
  }
  return absl::OkStatus();
}

absl::Status TryToListen(const Address& address) {
  return address.is_unix() ? TryUnix(address) : TryTcp(address);
}

absl::Status CheckCanListen(absl::string_view address, bool insecure_network) {
  GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  GANDEM_RETURN_IF_ERROR(CheckListenAddress(parsed, insecure_network));
  return parsed.is_unix() ? CheckUnixSocketIsFree(parsed) : TryTcp(parsed);
}

}  // namespace gandem
