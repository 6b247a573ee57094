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
  return fetching_bytes_ + done_bytes_;
}

bool BlockCache::Reserve(int64_t bytes) {
  absl::MutexLock lock(&mu_);
  if (bytes > max_bytes_) return false;
  max_bytes_ -= bytes;
  Drop(0);
  return true;
}

// Until `room` bytes more fit, or nothing can be dropped.
void BlockCache::Drop(int64_t room) {
  while (!used_.empty() && fetching_bytes_ + done_bytes_ + room > max_bytes_) {
    const auto oldest = entries_.find(used_.back());
    done_bytes_ -= oldest->second->bytes;
    entries_.erase(oldest);
    used_.pop_back();
  }
}

absl::StatusOr<BlockCache::Block> BlockCache::Get(const Key& key, int64_t bytes,
                                                  absl::Time deadline,
                                                  Fetch fetch) {
  while (true) {
    std::shared_ptr<Entry> entry;
    {
      absl::MutexLock lock(&mu_);
      std::shared_ptr<Entry>& place = entries_[key];
      if (place == nullptr) {
        place = std::make_shared<Entry>(Entry{.bytes = bytes});
        entry = place;
      } else {
        const std::shared_ptr<Entry> other = place;
        const absl::Status waited =
            AwaitOrStop(&mu_, absl::Condition(&other->done), deadline);
        if (!waited.ok()) return waited;
        if (absl::IsCancelled(other->failure)) continue;
        if (!other->failure.ok()) return other->failure;
        const auto found = entries_.find(key);
        if (found != entries_.end() && found->second == other) {
          used_.splice(used_.begin(), used_, other->used);
        }
        return other->block;
      }
    }
    return FetchEntry(key, entry, deadline, fetch);
  }
}

absl::StatusOr<BlockCache::Block> BlockCache::FetchEntry(
    const Key& key, const std::shared_ptr<Entry>& entry, absl::Time deadline,
    Fetch fetch) {
  const auto fail = [&](const absl::Status& status) {
    mu_.AssertHeld();
    entries_.erase(key);
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
  Block block;
  if (fetched.ok()) {
    block = std::make_shared<const PagedString>(*std::move(fetched));
  }
  absl::MutexLock lock(&mu_);
  fetching_bytes_ -= entry->bytes;
  if (!fetched.ok()) return fail(fetched.status());
  entry->block = block;
  entry->done = true;
  entry->used = used_.insert(used_.begin(), key);
  done_bytes_ += entry->bytes;
  Drop(0);
  return block;
}

}  // namespace gandem
