// SPDX-License-Identifier: Apache-2.0
#include "collective/ring_core.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/operation_runner.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/process/ring_limits.h"
#include "common/status.h"
#include "common/wire_header.h"

namespace gandem {
namespace {

// Received chunks of one peer; gRPC's flow control holds more.
constexpr size_t kMaxInbox = 2 * kSendWindow;

// Ranks trust each other, so an impossible message must be damaged.
absl::Status AsDamage(const absl::Status& status) {
  return MayBeDamage(status) ? absl::DataLossError(status.message()) : status;
}

}  // namespace

void RingCore::Configure(const RingIdentity& identity, OnDamage on_damage,
                         OnOpen on_open) {
  absl::MutexLock lock(&mu_);
  GANDEM_CHECK(!is_configured_);
  is_configured_ = true;
  identity_ = identity;
  on_damage_ = std::move(on_damage);
  on_open_ = std::move(on_open);
  peers_.resize(identity.incarnations.size());
  for (int rank = 0; rank < size(); ++rank) {
    if (!identity.LinksTo(rank) || !SharesWith(rank)) continue;
    // The number of slots is the maximum number of chunks in transit, see
    // RunRing. Unused slots take no memory.
    auto memory = SharedSlotsWriter::Create(
        identity.slot_bytes, static_cast<int>(MostChunksUnderWay(size())));
    if (memory.ok()) peers_[rank].our_memory = *std::move(memory);
  }
}

absl::StatusOr<bool> RingCore::Admit(const RingFrame& open) {
  absl::MutexLock lock(&mu_);
  if (!is_configured_) return false;
  if (open.kind != RingFrameKind::kOpen) {
    return absl::InvalidArgumentError("a stream begins with an OPEN message");
  }
  GANDEM_RETURN_IF_ERROR(identity_.CheckSender(open));
  if (open.to != identity_.rank || open.fleet_size != size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", open.rank, " looks for rank ", open.to, " of ",
        open.fleet_size, "; this is rank ", identity_.rank, " of ", size()));
  }
  if (!failure_.ok()) {
    // The damage was on another link, so the new rank must not see DATA_LOSS.
    return absl::IsDataLoss(failure_)
               ? absl::AbortedError(absl::StrCat(
                     "rank ", identity_.rank,
                     " has given this membership up: ", failure_.message()))
               : Failure();
  }
  Peer& peer = peers_[open.rank];
  if (peer.is_admitted) {
    return absl::AlreadyExistsError(absl::StrCat(
        "rank ", open.rank, " is connected already: are there two of it?"));
  }
  peer.is_admitted = true;
  if (open.shared_memory.has_value() && SharesWith(open.rank)) {
    // Unreadable memory stays unused: see Accept.
    auto memory = SharedSlotsReader::Open(*open.shared_memory);
    if (memory.ok()) peer.its_memory = *std::move(memory);
  }
  return true;
}

absl::StatusOr<bool> RingCore::Deliver(int from, const RingFrame& frame) {
  absl::MutexLock lock(&mu_);
  Peer& peer = peers_[from];
  if (frame.rank != from) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a message of rank ", frame.rank, " in the stream of rank ", from));
  }
  if (const absl::Status status = identity_.CheckSender(frame); !status.ok()) {
    // The peer was admitted with another incarnation.
    return absl::InvalidArgumentError(status.message());
  }
  switch (frame.kind) {
    case RingFrameKind::kChunk:
      if (peer.inbox.size() >= kMaxInbox) return false;
      if (frame.number != peer.received + 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "chunk ", frame.number, " of rank ", from, " came where ",
            peer.received + 1, " was due: it was sent twice, or one was lost"));
      }
      return DeliverChunk(peer, frame);
    case RingFrameKind::kAbort:
      peer.has_left = true;
      FailLocked(frame.reason, frame.origin);
      return true;
    case RingFrameKind::kGoodbye:
      peer.has_left = true;
      return true;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected message of rank ", from));
  }
}

absl::StatusOr<bool> RingCore::DeliverChunk(Peer& peer,
                                            const RingFrame& frame) {
  Chunk chunk = frame.chunk;
  if (frame.shared_slot.has_value()) {
    if (peer.its_memory == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("a chunk of rank ", frame.rank,
                       " is in shared memory, and there is none"));
    }
    GANDEM_ASSIGN_OR_RETURN(
        SharedBytes payload,
        peer.its_memory->Read(*frame.shared_slot, frame.shared_bytes));
    chunk.payload = {std::move(payload)};
  }
  ++peer.received;
  peer.inbox.push_back(std::move(chunk));
  return true;
}

bool RingCore::HasLeft(int rank) const {
  absl::MutexLock lock(&mu_);
  return peers_[rank].has_left;
}

void RingCore::IncomingEnded(int from, const absl::Status& why) {
  if (MayBeDamage(why)) NoteDamage();
  absl::MutexLock lock(&mu_);
  if (!peers_[from].has_left) LoseLocked(from, why);
}

void RingCore::NoteDamage() {
  OnDamage on_damage;
  {
    absl::MutexLock lock(&mu_);
    on_damage = on_damage_;
  }
  if (on_damage) on_damage();
}

void RingCore::NoteOpen(int peer, bool is_outgoing) {
  OnOpen on_open;
  {
    absl::MutexLock lock(&mu_);
    on_open = on_open_;
  }
  if (on_open) on_open(peer, is_outgoing);
}

RingFrame RingCore::Frame(RingFrameKind kind) const {
  return {.kind = kind,
          .membership_epoch = identity_.membership_epoch,
          .incarnation = identity_.incarnations[identity_.rank],
          .rank = identity_.rank};
}

RingFrame RingCore::OpenFrame(int to) const {
  absl::MutexLock lock(&mu_);
  RingFrame open = Frame(RingFrameKind::kOpen);
  open.to = to;
  open.fleet_size = size();
  const Peer& peer = peers_[to];
  if (peer.our_memory != nullptr) open.shared_memory = peer.our_memory->name();
  return open;
}

RingFrame RingCore::AcceptFrame(int from) const {
  absl::MutexLock lock(&mu_);
  RingFrame accept = Frame(RingFrameKind::kAccept);
  const Peer& peer = peers_[from];
  if (peer.its_memory != nullptr) {
    accept.shared_memory = peer.its_memory->name();
  }
  return accept;
}

absl::Status RingCore::Accept(const RingFrame& accept, int to) {
  absl::MutexLock lock(&mu_);
  GANDEM_RETURN_IF_ERROR(identity_.CheckSender(accept));
  Peer& peer = peers_[to];
  if (accept.kind != RingFrameKind::kAccept || accept.rank != to ||
      peer.link != Link::kConnecting) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank ", accept.rank, " answers a stream to rank ", to,
                     " with something else than ACCEPT"));
  }
  peer.link = Link::kAccepted;
  peer.reads_our_memory = peer.our_memory != nullptr &&
                          accept.shared_memory == peer.our_memory->name();
  return absl::OkStatus();
}

// Chunks precede the farewell: a rank that leaves has sent everything.
std::optional<RingFrame> RingCore::NextFor(int to) {
  absl::MutexLock lock(&mu_);
  Peer& peer = peers_[to];
  if (peer.link != Link::kAccepted) return std::nullopt;
  if (!peer.outbox.empty()) {
    RingFrame frame = Frame(RingFrameKind::kChunk);
    frame.number = ++peer.sent;
    frame.chunk = std::move(peer.outbox.front());
    peer.outbox.pop_front();
    std::vector<SharedBytes>& payload = frame.chunk.payload;
    if (peer.reads_our_memory && !payload.empty()) {
      frame.shared_slot = peer.our_memory->SlotOf(payload.front());
    }
    if (frame.shared_slot.has_value()) {
      frame.shared_bytes = frame.chunk.size();
      payload.clear();
    }
    return frame;
  }
  if (!failure_.ok()) {
    peer.link = Link::kFarewell;
    RingFrame frame = Frame(RingFrameKind::kAbort);
    frame.origin = failure_origin_;
    frame.reason = failure_;
    return frame;
  }
  if (is_leaving_) {
    peer.link = Link::kFarewell;
    return Frame(RingFrameKind::kGoodbye);
  }
  return std::nullopt;
}

void RingCore::AnswerIsDamaged(int to, const absl::Status& why) {
  NoteDamage();
  absl::MutexLock lock(&mu_);
  LoseLocked(to, why);
}

// A stream's end depends on its state: a peer that has not accepted may be
// late; a peer that has accepted is lost.
void RingCore::OutgoingEnded(int to, const absl::Status& why) {
  // Reports damage first, because this rank and the receiver of the report may
  // be destroyed once the link has ended.
  if (MayBeDamage(why)) NoteDamage();
  absl::MutexLock lock(&mu_);
  Peer& peer = peers_[to];
  const Link link = std::exchange(peer.link, Link::kEnded);
  if (link == Link::kAccepted && !peer.has_left) LoseLocked(to, why);
  if (link != Link::kConnecting || is_leaving_ || !failure_.ok()) return;
  if (absl::IsAlreadyExists(why)) {
    // The peer still has the previous, broken connection.
    LoseLocked(to, why);
  } else if (IsWorthRetrying(why)) {
    peer.link = Link::kUnconnected;
    peer.refused = why;
  } else {
    FailLocked(
        AsDamage(Annotate(
            why, absl::StrCat("rank ", to, " refuses rank ", identity_.rank))),
        identity_.rank);
  }
}

void RingCore::Fail(absl::Status reason) {
  absl::MutexLock lock(&mu_);
  FailLocked(std::move(reason), identity_.rank);
}

void RingCore::FailLocked(absl::Status reason, int origin) {
  if (!failure_.ok()) return;
  failure_ = std::move(reason);
  failure_origin_ = origin;
}

void RingCore::LoseLocked(int rank, const absl::Status& why) {
  // A broken connection is UNAVAILABLE, whatever code gRPC returns.
  if (MayBeDamage(why)) {
    FailLocked(AsDamage(why), identity_.rank);
    return;
  }
  FailLocked(absl::UnavailableError(absl::StrCat(
                 "rank ", rank, " is lost",
                 why.ok() ? "" : absl::StrCat(": ", why.message()))),
             identity_.rank);
}

absl::Status RingCore::Failure() const {
  if (failure_origin_ == identity_.rank) return failure_;
  // DATA_LOSS concerns only the rank with the damaged data.
  if (absl::IsDataLoss(failure_)) {
    return absl::UnavailableError(absl::StrCat(
        "rank ", failure_origin_, " is lost: ", failure_.message()));
  }
  return Annotate(failure_, absl::StrCat("rank ", failure_origin_));
}

bool RingCore::has_failed() const {
  absl::MutexLock lock(&mu_);
  return !failure_.ok();
}

}  // namespace gandem
