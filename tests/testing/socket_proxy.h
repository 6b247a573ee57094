// SPDX-License-Identifier: Apache-2.0
//
// A bad network between two processes or objects: listens on a unix socket and
// forwards bytes to another socket, or to a port of this host. On request it
// cuts the connections or damages a byte. It can record the traffic.
//
// Owner: the test; the destructor ends all connections. Thread safety: any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/process/thread.h"

namespace gandem::testing {

class SocketProxy {
 public:
  // Starts listening before it returns. The arguments are paths, not addresses.
  static absl::StatusOr<std::unique_ptr<SocketProxy>> Start(
      const std::string& listen_path, const std::string& target_path);
  static absl::StatusOr<std::unique_ptr<SocketProxy>> StartToPort(
      const std::string& listen_path, int target_port);
  ~SocketProxy();

  // Ends all connections; new ones are accepted.
  void Cut();
  // Cuts all connections after `bytes` more bytes in both directions.
  void CutAfter(int64_t bytes);
  // Flips one bit in the contents of HTTP/2's DATA frames, after the next
  // `bytes` bytes of them, both ways together. Other frames stay as they are:
  // gRPC 1.51 aborts on some damaged ones.
  void DamageAfter(int64_t bytes);
  int64_t num_cuts() const;
  int64_t num_connections() const;
  // Returns the bytes sent so far by the connecting clients, concatenated.
  std::string recorded() const;

 private:
  // Buffered bytes in one direction.
  struct Way {
    int from = -1;
    int to = -1;
    std::vector<char> waiting;
    // HTTP/2: the frame of the next byte.
    std::string frame_header = {};
    int64_t frame_left = 0;
    bool is_data = false;
    // Returns whether `byte` is in the contents of a DATA frame.
    bool IsData(char byte);
  };
  struct Connection {
    Way ways[2];
    bool broken = false;
  };

  // Address to which connections are forwarded: a path, or a port if the path
  // is empty.
  struct Target {
    std::string path;
    int port = 0;
  };

  SocketProxy(int listener, int wake_reader, int wake_writer,
              std::string listen_path, Target target);

  static absl::StatusOr<std::unique_ptr<SocketProxy>> Start(
      const std::string& listen_path, Target target);

  void Run();
  void Accept();
  // Forwards available bytes; returns the number of bytes received.
  int64_t Move(Connection& connection);
  void Record(const char* bytes, size_t size);
  // Damages bytes that have just arrived.
  void Damage(Way& way, char* bytes, size_t size);
  void Wake();

  const int listener_;  // constant after construction
  const int wake_reader_;
  const int wake_writer_;
  const std::string listen_path_;
  const Target target_;

  std::vector<Connection> connections_;  // used by the thread only

  mutable absl::Mutex mu_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  int64_t bytes_until_cut_ ABSL_GUARDED_BY(mu_) = -1;     // -1: none
  int64_t bytes_until_damage_ ABSL_GUARDED_BY(mu_) = -1;  // -1: no damage
  int64_t num_cuts_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_connections_ ABSL_GUARDED_BY(mu_) = 0;
  std::string recorded_ ABSL_GUARDED_BY(mu_);  // the first kMaxRecorded bytes

  Thread thread_;
};

}  // namespace gandem::testing
