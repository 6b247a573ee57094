// SPDX-License-Identifier: Apache-2.0
//
// The streams of proto/collective.proto over gRPC: one from each peer, one to
// each peer. gRPC's threads only move bytes between them and a RingCore.
//
// Owner: a stream owns itself until it is done; RingStreams is shared.
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

// Maximum size of one message, header included. A chunk is at most 64 MiB.
inline constexpr int64_t kMaxRingMessageBytes =
    (int64_t{64} << 20) + (int64_t{64} << 10);

// State that the streams of a rank share.
class RingStreams {
 public:
  RingCore& core() { return core_; }

  // Begins to serve a call, or to connect with a peer.
  static grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Serve(
      const std::shared_ptr<RingStreams>& streams);
  static void Begin(const std::shared_ptr<RingStreams>& streams, int to,
                    const std::shared_ptr<grpc::Channel>& channel);

  // Wakes streams: there may be something new for them to read or send.
  void PokeIncoming(int from);
  void PokeOutgoing(int to);
  void PokeAll();
  // This rank has left.
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
