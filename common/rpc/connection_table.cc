// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/connection_table.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace gandem {
namespace {

// 0: no descriptor of a socket.
ino_t InodeOf(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

// That have arrived, as the kernel counts: also those that nobody has read. 0:
// it does not tell.
int64_t BytesReceived(int fd) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
  return static_cast<int64_t>(info.tcpi_bytes_received);
}

std::string NameOfV4(const in_addr& address, in_port_t port) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address, text, sizeof(text));
  return absl::StrCat("ipv4:", text, ":", ntohs(port));
}

}  // namespace

std::string NameOfPeer(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return NameOfV4(v4.sin_addr, v4.sin_port);
  }
  if (address.ss_family != AF_INET6) return "";
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    in_addr v4 = {};
    std::memcpy(&v4, v6.sin6_addr.s6_addr + 12, sizeof(v4));
    return NameOfV4(v4, v6.sin6_port);
  }
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
  return absl::StrCat("ipv6:[", text, "]:", ntohs(v6.sin6_port));
}

bool ConnectionTable::Add(int fd, std::string peer) {
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  while (connections_.size() - NumKnown() >= limits_.unknown ||
         connections_.size() >= limits_.all) {
    if (!EndOldestUnknownLocked()) return false;
  }
  connections_.push_back(
      {.fd = fd, .inode = InodeOf(fd), .peer = std::move(peer)});
  return true;
}

bool ConnectionTable::EndOldestUnknown() {
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  return EndOldestUnknownLocked();
}

bool ConnectionTable::EndTalkativeUnknown() {
  if (limits_.unknown_bytes == 0) return false;
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  std::erase_if(connections_, [this](const Connection& connection) {
    if (connection.is_known ||
        BytesReceived(connection.fd) <= limits_.unknown_bytes) {
      return false;
    }
    End(connection);
    return true;
  });
  return NumKnown() < connections_.size();
}

void ConnectionTable::NoteKnown(absl::string_view peer) {
  // gRPC's is a URI.
  const std::string name =
      absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
  absl::MutexLock lock(&mu_);
  for (Connection& connection : connections_) {
    connection.is_known |= connection.peer == name;
  }
}

size_t ConnectionTable::num_open() {
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  return connections_.size();
}

size_t ConnectionTable::num_known() {
  absl::MutexLock lock(&mu_);
  ForgetClosed();
  return NumKnown();
}

bool ConnectionTable::IsOpen(const Connection& connection) {
  return connection.inode != 0 && InodeOf(connection.fd) == connection.inode;
}

void ConnectionTable::ForgetClosed() {
  std::erase_if(connections_, [](const Connection& connection) {
    return !IsOpen(connection);
  });
}

// gRPC hears of the end and closes the descriptor. If it does so between the
// look and the call, and the number is another socket's by then, that one is
// lost: its peer connects again. A peer that is still sending hears of a reset;
// of an orderly end it would not, while it waits for room to send.
void ConnectionTable::End(const Connection& connection) {
  if (!IsOpen(connection)) return;
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  shutdown(connection.fd, SHUT_RDWR);
}

bool ConnectionTable::EndOldestUnknownLocked() {
  const auto oldest = std::ranges::find_if(
      connections_, [](const Connection& c) { return !c.is_known; });
  if (oldest == connections_.end()) return false;
  End(*oldest);
  connections_.erase(oldest);
  return true;
}

size_t ConnectionTable::NumKnown() const {
  return static_cast<size_t>(
      std::ranges::count_if(connections_, &Connection::is_known));
}

}  // namespace gandem
