// SPDX-License-Identifier: Apache-2.0
#include "pipeline/remote/block_cache.h"

#include <algorithm>
#include <utility>

#include "common/monotonic_time.h"
#include "pipeline/read_stop.h"

namespace gandem {
namespace {

constexpr absl::Duration kLookForStop = absl::Milliseconds(100);

// Waits for `condition` and, as nobody wakes a thread that was stopped, looks.
absl::Status AwaitOrStop(absl::Mutex* mu, const absl::Condition& condition,
                         absl::Time deadline) ABSL_SHARED_LOCKS_REQUIRED(mu) {
  while (!AwaitUntil(mu, condition,
                     std::min(deadline, MonotonicNow() + kLookForStop))) {
    if (ScopedReadStop::Stopped()) return absl::CancelledError("stopped");
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError(
          "other reads of the same file have not ended");
    }
  }
  return absl::OkStatus();
}

}  // namespace

void BlockCache::Resize(int64_t change) {
  absl::MutexLock lock(&mu_);
  max_bytes_ += change;
  Drop(0);
}

int64_t BlockCache::held_bytes() const {
  absl::MutexLock lock(&mu_);
  return fetching_bytes_ + used_bytes_ + idle_bytes_;
}

bool BlockCache::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  return ReserveBeside(0, bytes);
}

bool BlockCache::ReserveSpare(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  return ReserveBeside(fetching_bytes_ + used_bytes_, bytes);
}

bool BlockCache::ReserveBeside(int64_t kept, int64_t bytes) {
  if (kept + bytes > max_bytes_) return false;
  max_bytes_ -= bytes;
  Drop(0);
  return true;
}

// Until `room` bytes more fit, or nothing can be dropped.
void BlockCache::Drop(int64_t room) {
  while (!idle_.empty() &&
         fetching_bytes_ + used_bytes_ + idle_bytes_ + room > max_bytes_) {
    const auto oldest = entries_.find(idle_.back());
    idle_bytes_ -= oldest->second->bytes;
    entries_.erase(oldest);
    idle_.pop_back();
  }
}

void BlockCache::Leave(Entry& entry) {
  if (--entry.users > 0) return;
  used_bytes_ -= entry.bytes;
  idle_bytes_ += entry.bytes;
  entry.idle = idle_.insert(idle_.begin(), entry.key);
  Drop(0);
}

// For a user that is counted.
BlockCache::Block BlockCache::Lend(const SharedEntry& entry) {
  return {&entry->block, [this, entry](const PagedString*) {
            absl::MutexLock lock(&mu_);
            Leave(*entry);
          }};
}

absl::StatusOr<BlockCache::Block> BlockCache::Get(const Key& key, int64_t bytes,
                                                  absl::Time deadline,
                                                  Fetch fetch) {
  while (true) {
    SharedEntry entry;
    {
      absl::MutexLock lock(&mu_);
      SharedEntry& place = entries_[key];
      if (place != nullptr) {
        entry = place;
        auto block = Use(entry, deadline);
        if (absl::IsCancelled(entry->failure)) continue;
        return block;
      }
      place = std::make_shared<Entry>(Entry{.key = key,
                                            .bytes = bytes,
                                            .reader = ScopedGiveWay::Current(),
                                            .users = 1});
      entry = place;
    }
    return FetchEntry(entry, deadline, fetch);
  }
}

absl::StatusOr<BlockCache::Block> BlockCache::Use(const SharedEntry& entry,
                                                  absl::Time deadline) {
  if (!entry->done && ScopedGiveWay::GivesWayTo(entry->reader)) {
    return absl::CancelledError("another read brings it");
  }
  ScopedGiveWay::Found();
  if (entry->done && entry->users == 0) {
    idle_.erase(entry->idle);
    idle_bytes_ -= entry->bytes;
    used_bytes_ += entry->bytes;
  }
  ++entry->users;
  const absl::Status waited =
      AwaitOrStop(&mu_, absl::Condition(&entry->done), deadline);
  if (!waited.ok()) {  // it is not done
    --entry->users;
    return waited;
  }
  if (!entry->failure.ok()) return entry->failure;
  return Lend(entry);
}

absl::StatusOr<BlockCache::Block> BlockCache::FetchEntry(
    const SharedEntry& entry, absl::Time deadline, Fetch fetch) {
  const auto fail = [&](const absl::Status& status) {
    mu_.AssertHeld();
    entries_.erase(entry->key);
    entry->failure = status;
    entry->done = true;
    return status;
  };
  {
    absl::MutexLock lock(&mu_);
    struct Room {
      const BlockCache* cache;
      int64_t bytes;
    } room = {.cache = this, .bytes = entry->bytes};
    const auto has_room = [](Room* wanted) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return wanted->cache->HasRoom(wanted->bytes);
    };
    const absl::Status waited =
        AwaitOrStop(&mu_, absl::Condition(+has_room, &room), deadline);
    if (!waited.ok()) return fail(waited);
    Drop(entry->bytes);
    fetching_bytes_ += entry->bytes;
  }
  absl::StatusOr<PagedString> fetched = fetch();
  absl::MutexLock lock(&mu_);
  fetching_bytes_ -= entry->bytes;
  if (!fetched.ok()) return fail(fetched.status());
  ScopedGiveWay::Brought(entry->bytes);
  entry->block = *std::move(fetched);
  entry->done = true;
  used_bytes_ += entry->bytes;
  return Lend(entry);
}

}  // namespace gandem
