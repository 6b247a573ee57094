// SPDX-License-Identifier: Apache-2.0
//
// A data_worker that a test plays in a thread, with answers of its choice.
//
// Owner: the test. Thread safety: one thread.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/check.h"
#include "common/process/thread.h"
#include "extras/parquet/data_worker_client.h"
#include "extras/parquet/frame_socket.h"

namespace gandem::testing {

struct SocketEnds {
  OwnedFd ours = OwnedFd();
  OwnedFd theirs = OwnedFd();
};

inline SocketEnds MakeSocketEnds() {
  int fds[2] = {-1, -1};
  GANDEM_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  return {.ours = OwnedFd(fds[0]), .theirs = OwnedFd(fds[1])};
}

// The test's end of the socket. Once gandem has closed its end, nothing is sent
// or received.
class DataPeer {
 public:
  explicit DataPeer(OwnedFd fd) : socket_(std::move(fd)) {}

  // Waits for a request. Returns false once gandem has closed its end.
  bool Receive() {
    auto received = socket_.Receive();
    if (!received.ok()) return false;
    request_ = received->frame;
    return true;
  }
  const DataFrame& request() const { return request_; }

  void Send(const DataFrame& frame, absl::string_view payload = "") {
    (void)socket_.Send(frame, payload);
  }
  void Fail(absl::StatusCode code, absl::string_view text) {
    Send({.kind = FrameKind::kFailed, .first = static_cast<int64_t>(code)},
         text);
  }
  // Requests bytes of the file. Returns "" if gandem could not read them.
  std::string Ask(int64_t shard, int64_t offset, int64_t size) {
    Send({.kind = FrameKind::kReadAt,
          .shard = shard,
          .first = offset,
          .second = size});
    auto answer = socket_.Receive();
    return answer.ok() ? std::move(answer->payload) : "";
  }

 private:
  FrameSocket socket_;
  DataFrame request_;
};

// A client whose other end is `play` in a thread.
class PlayedWorker {
 public:
  using Play = std::function<void(DataPeer& peer)>;

  explicit PlayedWorker(Play play, absl::Duration patience = absl::Minutes(1)) {
    SocketEnds ends = MakeSocketEnds();
    client_ = std::make_unique<DataWorkerClient>(
        FrameSocket(std::move(ends.ours), patience));
    thread_ = Thread(
        "played worker",
        [play = std::move(play), theirs = std::move(ends.theirs)]() mutable {
          DataPeer peer(std::move(theirs));
          play(peer);
        });
  }
  PlayedWorker(const PlayedWorker&) = delete;
  PlayedWorker& operator=(const PlayedWorker&) = delete;
  ~PlayedWorker() {
    client_ = nullptr;  // closes the socket, which ends `play`
    thread_.Join();
  }

  DataWorkerClient& client() { return *client_; }
  // Gives the client to a pool. The pool must end before this object.
  std::unique_ptr<DataWorkerClient> TakeClient() { return std::move(client_); }

 private:
  std::unique_ptr<DataWorkerClient> client_;
  Thread thread_;
};

}  // namespace gandem::testing
