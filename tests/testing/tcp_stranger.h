// SPDX-License-Identifier: Apache-2.0
//
// Somebody who connects to a server's port on this host and says nothing by
// itself. Thread safety: one thread calls.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace gandem::testing {

class TcpStranger {
 public:
  // What HTTP/2 begins with: its preface, and settings without any.
  static constexpr absl::string_view kHello{
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 33};

  // `address`: HOST:PORT, of which the host is this one.
  explicit TcpStranger(const std::string& address)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(static_cast<uint16_t>(
        std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&name), sizeof(name)),
              0);
  }
  TcpStranger(TcpStranger&& other) : fd_(std::exchange(other.fd_, -1)) {}
  ~TcpStranger() {
    if (fd_ >= 0) close(fd_);
  }

  // As much as the connection takes now. False: it has ended.
  bool Say(absl::string_view bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >=
               0 ||
           errno == EAGAIN;
  }
  // Whether the server has ended the connection, whatever it has said before.
  bool IsEnded() const {
    char bytes[4096];
    ssize_t size = 0;
    while ((size = recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
    }
    return size == 0 || (size < 0 && errno != EAGAIN);
  }

 private:
  int fd_;
};

}  // namespace gandem::testing
