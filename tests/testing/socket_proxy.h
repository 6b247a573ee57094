// SPDX-License-Identifier: Apache-2.0
//
// A bad network between two processes or objects: listens on a unix socket and
// forwards bytes to another socket, or to a port of this host. On request it
// cuts the connections, or damages a byte. It can record the traffic.
//
// Owner: the test; ends all connections in its destructor.
// Thread safety: any thread.
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
  // Paths, not addresses. Listens when it returns.
  static absl::StatusOr<std::unique_ptr<SocketProxy>> Start(
      const std::string& listen_path, const std::string& target_path);
  static absl::StatusOr<std::unique_ptr<SocketProxy>> StartToPort(
      const std::string& listen_path, int target_port);
  ~SocketProxy();

  // Ends all connections; new ones are accepted.
  void Cut();
  // Does the same once `bytes` more bytes have passed, both ways together.
  void CutAfter(int64_t bytes);
  // Flips one bit in the contents of HTTP/2's DATA frames, after the next
  // `bytes` bytes of them, both ways together. Other frames stay as they are:
  // gRPC 1.51 aborts on some damaged ones.
  void DamageAfter(int64_t bytes);
  int64_t num_cuts() const;
  // Number of connections accepted so far.
  int64_t num_connections() const;
  // Bytes that the connecting clients have sent so far, one after the other.
  std::string recorded() const;

 private:
  // Bytes on their way from one socket to the other.
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
  // Moves what can be moved; returns how many bytes arrived.
  int64_t Move(Connection& connection);
  void Record(const char* bytes, size_t size);
  // Damages bytes that have just arrived.
  void Damage(Way& way, char* bytes, size_t size);
  void Wake();

  const int listener_;  // these never change after construction
  const int wake_reader_;
  const int wake_writer_;
  const std::string listen_path_;
  const Target target_;

  std::vector<Connection> connections_;  // the thread's

  mutable absl::Mutex mu_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  int64_t bytes_until_cut_ ABSL_GUARDED_BY(mu_) = -1;     // -1: none
  int64_t bytes_until_damage_ ABSL_GUARDED_BY(mu_) = -1;  // -1: none
  int64_t num_cuts_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_connections_ ABSL_GUARDED_BY(mu_) = 0;
  std::string recorded_ ABSL_GUARDED_BY(mu_);  // the first kMaxRecorded bytes

  Thread thread_;
};

}  // namespace gandem::testing
