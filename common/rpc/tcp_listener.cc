// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/tcp_listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/rpc/listen_check.h"

namespace gandem {
namespace {

// Connections that wait to be accepted.
constexpr int kBacklog = 128;
// After a connection that could not be accepted, for want of memory or of
// descriptors.
constexpr int kPauseMilliseconds = 100;
// How often strangers are looked at, while there are any.
constexpr int kLookMilliseconds = 20;

void SetPort(sockaddr* address, int port) {
  const auto number = htons(static_cast<uint16_t>(port));
  if (address->sa_family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = number;
  } else if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = number;
  }
}

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return 0;
  }
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                   : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

// -1, and errno: this address does not work.
int OpenSocket(const addrinfo& entry) {
  const int fd =
      socket(entry.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  // As gRPC does: connections in TIME_WAIT do not count, small messages do not
  // wait for more.
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) == 0 &&
      bind(fd, entry.ai_addr, entry.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

void Signal(int event_fd) {
  const uint64_t one = 1;
  (void)!write(event_fd, &one, sizeof(one));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TcpListener>> TcpListener::Listen(
    const Address& address) {
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (failed != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        CannotListen(address), ": the name '", address.host,
        "' has no address here (", gai_strerror(failed),
        "); give an address or a name of this machine, or 0.0.0.0 for all of "
        "its addresses"));
  }
  const absl::Cleanup free_list = [list] { freeaddrinfo(list); };
  std::unique_ptr<TcpListener> listener(new TcpListener);
  listener->port_ = address.port;
  int error = 0;  // the first one
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SetPort(entry->ai_addr, listener->port_);  // all have the same
    const int fd = OpenSocket(*entry);
    if (fd < 0) {
      if (error == 0) error = errno;
      continue;
    }
    listener->sockets_.push_back(fd);
    if (listener->port_ == 0) listener->port_ = PortOf(fd);
  }
  if (!listener->sockets_.empty()) return listener;
  if (error == EADDRINUSE) return AddressInUse(address);
  return absl::ErrnoToStatus(error, CannotListen(address));
}

TcpListener::~TcpListener() {
  if (stop_ >= 0) Signal(stop_);
  accept_.Join();
  look_.Join();
  for (const int fd : sockets_) close(fd);
  if (stop_ >= 0) close(stop_);
  if (has_new_ >= 0) close(has_new_);
}

absl::Status TcpListener::Accept(std::unique_ptr<Acceptor> acceptor,
                                 std::shared_ptr<ConnectionTable> connections) {
  stop_ = eventfd(0, EFD_CLOEXEC);
  has_new_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0 || has_new_ < 0) {
    return absl::ErrnoToStatus(errno, "cannot make an eventfd");
  }
  acceptor_ = std::move(acceptor);
  connections_ = std::move(connections);
  look_ = Thread("strangers", [this] { LookAtStrangers(); });
  accept_ = Thread("accept", [this] { Run(); });
  return absl::OkStatus();
}

void TcpListener::Run() {
  std::vector<pollfd> wanted = {{.fd = stop_, .events = POLLIN, .revents = 0}};
  for (const int fd : sockets_) {
    wanted.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  }
  while (true) {
    if (poll(wanted.data(), wanted.size(), /*timeout=*/-1) < 0) continue;
    if (wanted.front().revents != 0) return;
    for (const pollfd& ready : wanted) {
      if (ready.revents != 0) AcceptOne(ready.fd);
    }
  }
}

// In a thread of its own: gRPC reads a new connection in the thread that brings
// it, for as long as there is something to read.
void TcpListener::LookAtStrangers() {
  pollfd wanted[] = {{.fd = stop_, .events = POLLIN, .revents = 0},
                     {.fd = has_new_, .events = POLLIN, .revents = 0}};
  bool has_strangers = false;
  while (true) {
    if (poll(wanted, 2, has_strangers ? kLookMilliseconds : -1) < 0) continue;
    if (wanted[0].revents != 0) return;
    uint64_t count = 0;
    if (wanted[1].revents != 0) (void)!read(has_new_, &count, sizeof(count));
    has_strangers = connections_->EndTalkativeUnknown();
  }
}

void TcpListener::AcceptOne(int listener) {
  const int fd =
      accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    if (!connections_->Add(fd, NameOfPeer(fd))) {
      GANDEM_LOG_DEBUG("too many connections: one more is closed");
      close(fd);
      return;
    }
    Signal(has_new_);
    Acceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = fd;
    acceptor_->HandleNewConnection(&connection);
    return;
  }
  // Any other reason is that of a connection that is gone already.
  if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
      errno == ENOMEM) {
    connections_->EndOldestUnknown();
    pollfd stop = {.fd = stop_, .events = POLLIN, .revents = 0};
    (void)poll(&stop, 1, kPauseMilliseconds);
  }
}

}  // namespace gandem
