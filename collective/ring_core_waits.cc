// SPDX-License-Identifier: Apache-2.0
//
// Calls of the communication thread to a RingCore, and its waits for peers.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "collective/ring_core.h"
#include "common/monotonic_time.h"
#include "common/process/ring_limits.h"

namespace gandem {
namespace {

// Smaller payloads are faster in the message.
constexpr size_t kMinShared = size_t{16} << 10;

}  // namespace

bool RingCore::AllLinksAre(bool (*good)(Link)) const {
  for (int rank = 0; rank < size(); ++rank) {
    if (identity_.LinksTo(rank) && !good(peers_[rank].link)) return false;
  }
  return true;
}

std::vector<int> RingCore::TakeUnconnected() {
  absl::MutexLock lock(&mu_);
  std::vector<int> result;
  for (int rank = 0; rank < size(); ++rank) {
    if (!identity_.LinksTo(rank) || peers_[rank].link != Link::kUnconnected) {
      continue;
    }
    peers_[rank].link = Link::kConnecting;
    result.push_back(rank);
  }
  return result;
}

absl::StatusOr<bool> RingCore::WaitForPeers(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto all_accepted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return AllLinksAre([](Link link) { return link >= Link::kAccepted; });
  };
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !failure_.ok() || all_accepted();
  };
  AwaitUntil(&mu_, absl::Condition(&ready), deadline);
  if (!failure_.ok()) return Failure();
  return all_accepted();
}

// Uses the heap if shared memory is full, absent or slower.
PayloadRoom RingCore::RoomFor(int to, size_t bytes) {
  if (bytes >= kMinShared) {
    absl::MutexLock lock(&mu_);
    Peer& peer = peers_[to];
    std::optional<PayloadRoom> shared;
    if (peer.reads_our_memory) shared = peer.our_memory->Take(bytes);
    if (shared.has_value()) return *std::move(shared);
  }
  return HeapRoom(bytes);
}

absl::Status RingCore::Send(int to, Chunk chunk) {
  absl::MutexLock lock(&mu_);
  Peer& peer = peers_[to];
  // A ring of n ranks never has more chunks in transit, see RunRing.
  const size_t max_outbox = kSendWindow * (peers_.size() + 1);
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !failure_.ok() || peer.has_left || peer.outbox.size() < max_outbox;
  };
  sending_to_ = to;
  mu_.Await(absl::Condition(&ready));
  sending_to_ = -1;
  if (!failure_.ok()) return Failure();
  if (peer.has_left) {
    return absl::UnavailableError(absl::StrCat("rank ", to, " has left"));
  }
  peer.outbox.push_back(std::move(chunk));
  return absl::OkStatus();
}

// Returns received chunks even after a failure: the operation may finish.
absl::StatusOr<Chunk> RingCore::Receive(int from) {
  absl::MutexLock lock(&mu_);
  Peer& peer = peers_[from];
  const auto ready = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return !failure_.ok() || peer.has_left || !peer.inbox.empty();
  };
  receiving_from_ = from;
  mu_.Await(absl::Condition(&ready));
  receiving_from_ = -1;
  if (!peer.inbox.empty()) {
    Chunk chunk = std::move(peer.inbox.front());
    peer.inbox.pop_front();
    return chunk;
  }
  if (!failure_.ok()) return Failure();
  return absl::UnavailableError(absl::StrCat("rank ", from, " has left"));
}

void RingCore::Leave() {
  absl::MutexLock lock(&mu_);
  is_leaving_ = true;
}

void RingCore::WaitForFarewell(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return AllLinksAre([](Link link) {
      return link != Link::kAccepted && link != Link::kFarewell;
    });
  };
  AwaitUntil(&mu_, absl::Condition(&ready), deadline);
}

void RingCore::WaitForOutgoing() {
  absl::MutexLock lock(&mu_);
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return AllLinksAre([](Link link) {
      return link == Link::kUnconnected || link == Link::kEnded;
    });
  };
  mu_.Await(absl::Condition(&ready));
}

int RingCore::rank_waited_for() const {
  absl::MutexLock lock(&mu_);
  if (receiving_from_ >= 0) return receiving_from_;
  if (sending_to_ >= 0) return sending_to_;
  for (int rank = 0; rank < size(); ++rank) {
    if (identity_.LinksTo(rank) && peers_[rank].link < Link::kAccepted) {
      return rank;
    }
  }
  return -1;
}

std::string RingCore::waits_for() const {
  absl::MutexLock lock(&mu_);
  if (receiving_from_ >= 0) {
    return absl::StrCat("a chunk of rank ", receiving_from_);
  }
  if (sending_to_ >= 0) {
    return absl::StrCat("rank ", sending_to_, " to take chunks");
  }
  std::string missing;
  for (int rank = 0; rank < size(); ++rank) {
    const Peer& peer = peers_[rank];
    if (!identity_.LinksTo(rank) || peer.link >= Link::kAccepted) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", "rank ", rank,
                    " to connect");
    if (!peer.refused.ok()) {
      absl::StrAppend(&missing, " (", peer.refused.message(), ")");
    }
  }
  return missing;
}

}  // namespace gandem
