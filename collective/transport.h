// SPDX-License-Identifier: Apache-2.0
//
// Moves chunks from each rank to each other rank in the order of sending. The
// only view of a network for the algorithms of operation_runner.h.
//
// Owner: the collective, whose communication thread makes all calls except
// Close and waits_for (any thread). Errors are sticky: a peer's failure, or
// Close()'s reason. Earlier chunks remain available.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "collective/chunk.h"

namespace gandem {

class Transport {
 public:
  // Says goodbye, so that sent chunks still arrive.
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Waits until all peers are connected, or for Close.
  virtual absl::Status Connect() = 0;
  // Returns memory from which a payload for `to` is sent fast.
  virtual PayloadRoom RoomFor(int /*to*/, size_t bytes) {
    return HeapRoom(bytes);
  }
  // Waits while too many chunks are queued, or for Close.
  virtual absl::Status Send(int to, Chunk chunk) = 0;
  // Waits for the next chunk, or for Close.
  //   UNAVAILABLE  `from` has left, or is lost
  virtual absl::StatusOr<Chunk> Receive(int from) = 0;
  // Fails all waiting and later calls, and informs the peers.
  virtual void Close(absl::Status reason) = 0;

  // Returns the ranks that the thread waits for, for error messages, or "".
  virtual std::string waits_for() const = 0;
  // Returns the first rank that the thread waits for; -1: none.
  virtual int rank_waited_for() const { return -1; }
};

}  // namespace gandem
