// SPDX-License-Identifier: Apache-2.0
//
// A bad network between two processes or objects: listens on a unix socket and
// passes bytes on to another one, until it is told to cut.
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
  ~SocketProxy();

  // Ends all connections; new ones are accepted.
  void Cut();
  // The same once this many more bytes have passed, both ways together.
  void CutAfter(int64_t bytes);
  int64_t num_cuts() const;
  // Accepted so far.
  int64_t num_connections() const;

 private:
  // Bytes on their way from one socket to the other.
  struct Way {
    int from = -1;
    int to = -1;
    std::vector<char> waiting;
  };
  struct Connection {
    Way ways[2];
    bool broken = false;
  };

  SocketProxy(int listener, int wake_reader, int wake_writer,
              std::string listen_path, std::string target_path);

  void Run();
  void Accept();
  // Moves what can be moved; returns how many bytes arrived.
  int64_t Move(Connection& connection);
  void Wake();

  const int listener_;  // these never change after construction
  const int wake_reader_;
  const int wake_writer_;
  const std::string listen_path_;
  const std::string target_path_;

  std::vector<Connection> connections_;  // the thread's

  mutable absl::Mutex mu_;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  int64_t bytes_until_cut_ ABSL_GUARDED_BY(mu_) = -1;  // -1: none
  int64_t num_cuts_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t num_connections_ ABSL_GUARDED_BY(mu_) = 0;

  Thread thread_;
};

}  // namespace gandem::testing
