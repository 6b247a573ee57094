// SPDX-License-Identifier: Apache-2.0
//
// Streams of proto/collective.proto over gRPC, one from and one to each peer.
// The threads of gRPC only move bytes between them and a RingCore.
//
// Owner: a stream owns itself until its end; RingStreams is shared.
// Thread safety: any thread.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "collective/ring_core.h"

namespace gandem {

class IncomingStream;
class OutgoingStream;

// Maximum size of a message with its header. A chunk has at most 64 MiB.
inline constexpr int64_t kMaxRingMessageBytes =
    (int64_t{64} << 20) + (int64_t{64} << 10);

// State shared by the streams of a rank.
class RingStreams {
 public:
  RingCore& core() { return core_; }

  // Starts serving a call, or connecting to a peer.
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Serve(
      const std::shared_ptr<RingStreams>& streams);
  static void Begin(const std::shared_ptr<RingStreams>& streams, int to,
                    const std::shared_ptr<grpc::Channel>& channel);

  // Wakes streams after a change of their input or output.
  void PokeIncoming(int from);
  void PokeOutgoing(int to);
  void PokeAll();
  // End the streams after this rank has left.
  void StopIncoming();
  void CancelOutgoing();

 private:
  friend class IncomingStream;
  friend class OutgoingStream;
  using Incoming = std::shared_ptr<IncomingStream>;
  using Outgoing = std::shared_ptr<OutgoingStream>;

  void Add(Incoming stream);
  void SetPeer(int from, IncomingStream* stream);
  void Remove(IncomingStream* stream);
  void Remove(int to, OutgoingStream* stream);
  std::map<IncomingStream*, Incoming> AllIncoming();
  std::map<int, Outgoing> AllOutgoing();

  RingCore core_;
  absl::Mutex mu_;
  std::map<IncomingStream*, Incoming> incoming_ ABSL_GUARDED_BY(mu_);
  std::map<int, Incoming> admitted_ ABSL_GUARDED_BY(mu_);  // by rank
  std::map<int, Outgoing> outgoing_ ABSL_GUARDED_BY(mu_);  // by rank
};

}  // namespace gandem
