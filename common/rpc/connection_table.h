// SPDX-License-Identifier: Apache-2.0
//
// The open TCP connections of a server, and which of them to give up when there
// are too many: gRPC has no limit of its own, and a process that has used up
// its descriptors can write no checkpoint. Who has said something that the
// server accepted is known, and stays; of the others the oldest has to go, and
// who has sent more than a first call needs: gRPC answers pings of HTTP/2
// without asking anybody. So strangers can neither fill the process nor keep a
// worker out.
//
// Owner: shared by a TcpListener and the service that knows its callers.
// Thread safety: any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace gandem {

class ConnectionTable {
 public:
  struct Limits {
    size_t unknown = 64;  // connections of nobody known
    size_t all = 1024;
    // That somebody unknown may send on one. A first call needs no more: the
    // coordinator takes requests of 128 KiB, openings are shorter. 0: no limit.
    int64_t unknown_bytes = int64_t{192} << 10;
  };

  ConnectionTable() : ConnectionTable(Limits()) {}
  explicit ConnectionTable(const Limits& limits) : limits_(limits) {}

  // Of `peer` (NameOfPeer), which has just connected: makes room by ending
  // others. False: all are known, there is no room.
  bool Add(int fd, std::string peer);
  // Ends the oldest connection of nobody known. False: there is none.
  bool EndOldestUnknown();
  // Ends those of nobody known that have sent too much. False: there is nobody
  // to be looked at again.
  bool EndTalkativeUnknown();
  // Of a call that was accepted, as grpc::ServerContext::peer() names it. Does
  // nothing for peers that are not in the table: those on unix sockets.
  void NoteKnown(absl::string_view peer);

  size_t num_open();
  size_t num_known();

 private:
  // gRPC owns the descriptor and closes it without telling: only together with
  // the inode it is the connection's.
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
    std::string peer;
    bool is_known = false;
  };

  static bool IsOpen(const Connection& connection);
  void ForgetClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void End(const Connection& connection);
  bool EndOldestUnknownLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  size_t NumKnown() const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  const Limits limits_;  // never changes after construction
  absl::Mutex mu_;
  std::deque<Connection> connections_ ABSL_GUARDED_BY(mu_);  // oldest first
};

// The other end of a TCP connection, as gRPC names it. Empty: there is none.
std::string NameOfPeer(int fd);

}  // namespace gandem
