// SPDX-License-Identifier: Apache-2.0
#include "common/process/cut_connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "common/check.h"
#include "tests/testing/temp_dir.h"

namespace gandem {
namespace {

using ::gandem::testing::TempDir;

// Both ends of a connection, and its listening socket.
class Pair {
 public:
  explicit Pair(const std::string& unix_path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, unix_path.c_str(),
                 sizeof(address.sun_path) - 1);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  // Connects over TCP.
  Pair() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    Connect(reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  ~Pair() {
    for (const int fd : {listener_, client_, server_}) close(fd);
  }

  bool IsWhole() const {
    for (const int fd : {client_, server_}) {
      char byte = 0;
      const ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
      if (got == 0) return false;
      GANDEM_CHECK(errno == EAGAIN);
    }
    return true;
  }
  // Returns whether the listener still accepts connections.
  bool Listens() const {
    int value = 0;
    socklen_t size = sizeof(value);
    return getsockopt(listener_, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) ==
               0 &&
           value == 1;
  }

 private:
  void Connect(const sockaddr* address, socklen_t size) {
    const int family = address->sa_family;
    listener_ = socket(family, SOCK_STREAM, 0);
    client_ = socket(family, SOCK_STREAM, 0);
    GANDEM_CHECK(bind(listener_, address, size) == 0);
    GANDEM_CHECK(listen(listener_, 1) == 0);
    sockaddr_storage bound = {};
    socklen_t bound_size = sizeof(bound);
    auto* const name = reinterpret_cast<sockaddr*>(&bound);
    GANDEM_CHECK(getsockname(listener_, name, &bound_size) == 0);
    GANDEM_CHECK(connect(client_, name, bound_size) == 0);
    server_ = accept(listener_, nullptr, nullptr);
    GANDEM_CHECK(server_ >= 0);
  }

  int listener_ = -1;
  int client_ = -1;
  int server_ = -1;
};

TEST(CutConnectionsTest, CutsTheConnectionsOfThePeerName) {
  const TempDir dir;
  const Pair fleet(dir / "fleet");
  const Pair control(dir / "control");
  const Pair tcp;
  CutConnections("/fleet");
  EXPECT_FALSE(fleet.IsWhole());
  EXPECT_TRUE(fleet.Listens());
  EXPECT_TRUE(control.IsWhole());
  EXPECT_TRUE(tcp.IsWhole());
  CutConnections("tcp");
  EXPECT_TRUE(control.IsWhole());
  EXPECT_FALSE(tcp.IsWhole());
}

TEST(CutConnectionsTest, WithoutANameAllConnectionsExceptUnnamedSocketsAreCut) {
  const TempDir dir;
  const Pair fleet(dir / "fleet");
  const Pair tcp;
  int unnamed[2] = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, unnamed), 0);
  CutConnections("");
  EXPECT_FALSE(fleet.IsWhole());
  EXPECT_FALSE(tcp.IsWhole());
  EXPECT_TRUE(tcp.Listens());
  EXPECT_EQ(write(unnamed[0], "x", 1), 1);
  for (const int fd : unnamed) close(fd);
}

}  // namespace
}  // namespace gandem
