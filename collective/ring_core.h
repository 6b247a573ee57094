// SPDX-License-Identifier: Apache-2.0
//
// State of a rank's connections with its peers, without gRPC: queued and
// received frames, present peers, and the failure. Streams (ring_streams.h)
// move frames in and out after each poke.
//
// Checks that each frame comes from the incarnation and membership epoch named
// by the coordinator, and that chunks have no gaps. A stranger's stream is
// refused and changes nothing. A peer's invalid frame ends the membership,
// because its intended content is lost.
//
// Three parties share the lock; each uses its own group of functions.
//
// Owner: shared by the streams and the transport. Thread safety: any thread.
// Errors: those of collective.h.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "collective/chunk.h"
#include "collective/ring_codec.h"
#include "collective/ring_identity.h"
#include "collective/shared_slots.h"

namespace gandem {

class RingCore {
 public:
  using OnDamage = std::function<void()>;
  // Reports messages from this rank to `peer` (`is_outgoing`) or back.
  using OnOpen = std::function<void(int peer, bool is_outgoing)>;

  // Called once; earlier streams wait for it. `on_damage` is called from any
  // thread for each damaged message.
  void Configure(const RingIdentity& identity, OnDamage on_damage = {},
                 OnOpen on_open = {});

  // --- A stream from a peer ---
  // Returns false before Configure: retry.
  absl::StatusOr<bool> Admit(const RingFrame& open);
  // Returns false without room: retry after the next Receive.
  absl::StatusOr<bool> Deliver(int from, const RingFrame& frame);
  // Returns whether the peer has sent its farewell, or its stream broke.
  bool HasLeft(int rank) const;
  void IncomingEnded(int from, const absl::Status& why);

  // Calls on_open of Configure().
  void NoteOpen(int peer, bool is_outgoing) ABSL_LOCKS_EXCLUDED(mu_);

  // --- The stream to a peer ---
  RingFrame OpenFrame(int to) const;
  RingFrame AcceptFrame(int from) const;
  absl::Status Accept(const RingFrame& accept, int to);
  std::optional<RingFrame> NextFor(int to);
  // Handles a damaged answer of the peer; this rank ends the stream.
  void AnswerIsDamaged(int to, const absl::Status& why);
  void OutgoingEnded(int to, const absl::Status& why);

  // --- The communication thread ---
  // Returns the peers to which streams must be started (again).
  std::vector<int> TakeUnconnected();
  // Returns whether all peers are connected, or the failure.
  absl::StatusOr<bool> WaitForPeers(absl::Time deadline);
  PayloadRoom RoomFor(int to, size_t bytes);
  absl::Status Send(int to, Chunk chunk);
  absl::StatusOr<Chunk> Receive(int from);
  // Lets the streams send GOODBYE (or ABORT) after their queued chunks.
  void Leave();
  // Waits until all peers have received the farewell, or no peer is left.
  void WaitForFarewell(absl::Time deadline);
  // Waits like WaitForFarewell, without a deadline, for cancelled streams.
  void WaitForOutgoing();

  // Fails because of this rank. Only the first failure counts.
  void Fail(absl::Status reason);
  bool has_failed() const;
  std::string waits_for() const;
  int rank_waited_for() const;  // first rank of waits_for(); -1: none

 private:
  // States of a link in order.
  enum class Link { kUnconnected, kConnecting, kAccepted, kFarewell, kEnded };
  struct Peer {
    // State of the peer's stream to this rank.
    bool is_admitted = false;
    bool has_left = false;
    int64_t received = 0;  // chunks
    std::deque<Chunk> inbox = {};
    std::unique_ptr<SharedSlotsReader> its_memory = {};  // may be null
    // State of this rank's stream to the peer.
    Link link = Link::kUnconnected;
    int64_t sent = 0;  // chunks
    std::deque<Chunk> outbox = {};
    std::unique_ptr<SharedSlotsWriter> our_memory = {};  // may be null
    bool reads_our_memory = false;
    absl::Status refused = {};  // why it is not connected yet
  };

  bool SharesWith(int rank) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !identity_.shares_memory.empty() && identity_.shares_memory[rank];
  }
  static absl::StatusOr<bool> DeliverChunk(Peer& peer, const RingFrame& frame);
  RingFrame Frame(RingFrameKind kind) const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  void NoteDamage() ABSL_LOCKS_EXCLUDED(mu_);
  void FailLocked(absl::Status reason, int origin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LoseLocked(int rank, const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  int size() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return static_cast<int>(peers_.size());
  }
  // Returns the failure for callers, naming the origin.
  absl::Status Failure() const ABSL_SHARED_LOCKS_REQUIRED(mu_);
  bool AllLinksAre(bool (*good)(Link)) const ABSL_SHARED_LOCKS_REQUIRED(mu_);

  mutable absl::Mutex mu_;
  bool is_configured_ ABSL_GUARDED_BY(mu_) = false;
  RingIdentity identity_ ABSL_GUARDED_BY(mu_);
  OnDamage on_damage_ ABSL_GUARDED_BY(mu_);  // may be empty
  OnOpen on_open_ ABSL_GUARDED_BY(mu_);      // may be empty
  // By rank; this rank's is unused.
  std::vector<Peer> peers_ ABSL_GUARDED_BY(mu_);
  bool is_leaving_ ABSL_GUARDED_BY(mu_) = false;
  // First failure, in the origin's words.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  int failure_origin_ ABSL_GUARDED_BY(mu_) = -1;
  int receiving_from_ ABSL_GUARDED_BY(mu_) = -1;
  int sending_to_ ABSL_GUARDED_BY(mu_) = -1;
};

}  // namespace gandem
