// SPDX-License-Identifier: Apache-2.0
//
// Chunks from each rank to each other rank, in the order of sending. The
// algorithms of operation_runner.h know nothing else about a network.
//
// Owner: the collective, whose communication thread makes all calls but Close
// and waits_for, which come from any thread.
// Errors are sticky: a peer's failure, or Close()'s reason. Chunks that arrived
// before can still be received.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/chunk.h"

namespace gandem {

class Transport {
 public:
  // Says goodbye, so that what was sent still arrives.
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Waits until all peers are there, or Close.
  virtual absl::Status Connect() = 0;
  // Returns memory for a payload for `to` from which sending is fast.
  virtual PayloadRoom RoomFor(int /*to*/, size_t bytes) {
    return HeapRoom(bytes);
  }
  // Waits while too many chunks wait to leave, or until Close.
  virtual absl::Status Send(int to, Chunk chunk) = 0;
  // Waits for the next chunk, or until Close.
  //   UNAVAILABLE  `from` has left, or is lost.
  virtual absl::StatusOr<Chunk> Receive(int from) = 0;
  // Fails all waiting and all later calls, and tells the peers.
  virtual void Close(absl::Status reason) = 0;

  // Names the ranks that the thread is waiting for, for error messages; may be
  // empty.
  virtual std::string waits_for() const = 0;
  // Returns the first rank that the thread is waiting for; -1: none.
  virtual int rank_waited_for() const { return -1; }
};

}  // namespace gandem
