// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/listen_check.h"

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

sockaddr_un UnixSocketAddress(const Address& address) {
  sockaddr_un result = {};
  result.sun_family = AF_UNIX;
  std::memcpy(result.sun_path, address.unix_path.data(),
              address.unix_path.size());
  return result;
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

// Returns 0 or errno.
int TryAddress(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const absl::Cleanup close_socket = [fd] { close(fd); };
  // Like gRPC, ignores connections in TIME_WAIT.
  const int yes = 1;
  const bool listens =
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
      bind(fd, address.ai_addr, address.ai_addrlen) == 0 && listen(fd, 1) == 0;
  return listens ? 0 : errno;
}

// A name may have several addresses, one of which must work.
absl::Status TryTcp(const Address& address) {
  const auto list = LookUp(address, AI_PASSIVE);
  if (!list.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(CannotListen(address), ": the name '", address.host,
                     "' has no address here (", list.status().message(),
                     "); give an address or a name of this machine"));
  }
  int first_error = 0;
  for (const addrinfo* entry = list->get(); entry != nullptr;
       entry = entry->ai_next) {
    const int error = TryAddress(*entry);
    if (error == 0) return absl::OkStatus();
    if (first_error == 0) first_error = error;
  }
  if (first_error == EADDRINUSE) return AddressInUse(address);
  return absl::ErrnoToStatus(first_error, CannotListen(address));
}

}  // namespace

std::string CannotListen(const Address& address) {
  return absl::StrCat("cannot listen on ", ToString(address));
}

absl::Status AddressInUse(const Address& address) {
  return absl::AlreadyExistsError(absl::StrCat(
      CannotListen(address),
      ": another process does; stop it or choose another address"));
}

absl::Status CheckUnixSocketAnswers(const Address& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::ErrnoToStatus(errno, "cannot make a unix socket");
  const absl::Cleanup close_socket = [fd] { close(fd); };
  const sockaddr_un name = UnixSocketAddress(address);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) ==
          0 ||
      errno == EAGAIN) {  // its backlog is full
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(
      errno, absl::StrCat("cannot connect to ", ToString(address)));
}

absl::Status CheckUnixSocketIsFree(const Address& address) {
  return CheckUnixSocketAnswers(address).ok() ? AddressInUse(address)
                                              : absl::OkStatus();
}

absl::Status TryToListen(const Address& address) {
  return address.is_unix() ? TryUnix(address) : TryTcp(address);
}

absl::Status CheckMayListen(const Address& address,
                            const Credentials& credentials) {
  if (StaysOnThisHost(address)) return absl::OkStatus();
  const Certificates* const certificates = credentials.certificates.get();
  if (certificates == nullptr && !credentials.insecure_network) {
    return absl::FailedPreconditionError(
        absl::StrCat("will not listen on ", ToString(address), ": ",
                     WhyUnencrypted(credentials)));
  }
  GANDEM_RETURN_IF_ERROR(CheckNoWildcard(address));
  return certificates == nullptr ? absl::OkStatus()
                                 : certificates->CheckServes(address.host);
}

absl::Status CheckCanListen(absl::string_view address,
                            const Credentials& credentials) {
  GANDEM_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address));
  GANDEM_RETURN_IF_ERROR(CheckMayListen(parsed, credentials));
  return parsed.is_unix() ? CheckUnixSocketIsFree(parsed) : TryTcp(parsed);
}

}  // namespace gandem
