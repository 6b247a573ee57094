// SPDX-License-Identifier: Apache-2.0
//
// LRU cache of pieces of files, such as blocks of remote files and row groups.
// The byte limit includes pieces that are in use or being fetched. Threads that
// need the same piece share one fetch.
//
// Owner: the reader of the pieces; outlives all pieces.
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/monotonic_time.h"
#include "pipeline/pieces_read.h"
#include "pipeline/read_stop.h"

namespace gandem {

template <typename Key, typename Value>
class SharedCache {
 public:
  using Piece = std::shared_ptr<const Value>;  // in use while held
  using Fetch = absl::FunctionRef<absl::StatusOr<Value>()>;

  explicit SharedCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Changes the byte limit by `change`.
  void Resize(int64_t change) {
    absl::MutexLock lock(&mu_);
    max_bytes_ += change;
    Drop(0);
  }

  // Returns the piece of `bytes` bytes. On a miss calls `fetch` without a lock.
  // All callers waiting for a fetch get its error, but after CANCELLED another
  // one fetches. Waits while fetches and pieces in use fill the cache.
  //   CANCELLED          stopped by read_stop.h.
  //   DEADLINE_EXCEEDED  other fetches did not end in time.
  absl::StatusOr<Piece> Get(const Key& key, int64_t bytes, absl::Time deadline,
                            Fetch fetch) {
    while (true) {
      SharedEntry entry;
      {
        absl::MutexLock lock(&mu_);
        SharedEntry& place = entries_[key];
        if (place != nullptr) {
          entry = place;
          auto piece = Use(entry, deadline);
          if (absl::IsCancelled(entry->failure)) continue;
          return piece;
        }
        place = std::make_shared<Entry>(
            Entry{.key = key, .bytes = bytes, .users = 1});
        entry = place;
      }
      return FetchEntry(entry, deadline, fetch);
    }
  }

  // Takes space for data outside the cache; false: there is not enough.
  bool Reserve(int64_t bytes) {
    absl::MutexLock lock(&mu_);
    if (bytes > max_bytes_) return false;
    max_bytes_ -= bytes;
    Drop(0);
    return true;
  }
  void Release(int64_t bytes) { Resize(bytes); }

  int64_t held_bytes() const {
    absl::MutexLock lock(&mu_);
    return fetching_bytes_ + used_bytes_ + idle_bytes_;
  }

 private:
  struct Entry {
    Key key;
    int64_t bytes = 0;
    bool done = false;
    absl::Status failure = absl::OkStatus();
    std::optional<Value> value = {};
    int64_t users = 0;                            // waiting or holding callers
    typename std::list<Key>::iterator idle = {};  // in idle_, without users
  };
  using SharedEntry = std::shared_ptr<Entry>;

  // Waits for `condition`. Polls for a stop, because a stop wakes no thread.
  absl::Status AwaitOrStop(const absl::Condition& condition,
                           absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    constexpr absl::Duration kLookForStop = absl::Milliseconds(100);
    while (!AwaitUntil(&mu_, condition,
                       std::min(deadline, MonotonicNow() + kLookForStop))) {
      if (ScopedReadStop::Stopped()) return absl::CancelledError("stopped");
      if (MonotonicNow() >= deadline) {
        return absl::DeadlineExceededError(
            "other reads of the same file have not ended");
      }
    }
    return absl::OkStatus();
  }

  // Evicts idle pieces until `room` more bytes fit or none is left.
  void Drop(int64_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    while (!idle_.empty() &&
           fetching_bytes_ + used_bytes_ + idle_bytes_ + room > max_bytes_) {
      const auto oldest = entries_.find(idle_.back());
      idle_bytes_ -= oldest->second->bytes;
      entries_.erase(oldest);
      idle_.pop_back();
    }
  }

  // Returns a piece that is cached or being fetched.
  absl::StatusOr<Piece> Use(const SharedEntry& entry, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ScopedPiecesRead::Found();
    if (entry->done && entry->users == 0) {
      idle_.erase(entry->idle);
      idle_bytes_ -= entry->bytes;
      used_bytes_ += entry->bytes;
    }
    ++entry->users;
    const absl::Status waited =
        AwaitOrStop(absl::Condition(&entry->done), deadline);
    if (!waited.ok()) {  // not done
      --entry->users;
      return waited;
    }
    if (!entry->failure.ok()) return entry->failure;
    return Lend(entry);
  }

  absl::StatusOr<Piece> FetchEntry(const SharedEntry& entry,
                                   absl::Time deadline, Fetch fetch) {
    const auto fail = [&](const absl::Status& status) {
      mu_.AssertHeld();
      entries_.erase(entry->key);
      entry->failure = status;
      entry->done = true;
      return status;
    };
    {
      absl::MutexLock lock(&mu_);
      const auto has_room = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
        return fetching_bytes_ == 0 ||
               fetching_bytes_ + used_bytes_ + entry->bytes <= max_bytes_;
      };
      const absl::Status waited =
          AwaitOrStop(absl::Condition(&has_room), deadline);
      if (!waited.ok()) return fail(waited);
      Drop(entry->bytes);
      fetching_bytes_ += entry->bytes;
    }
    absl::StatusOr<Value> fetched = fetch();
    absl::MutexLock lock(&mu_);
    fetching_bytes_ -= entry->bytes;
    if (!fetched.ok()) return fail(fetched.status());
    ScopedPiecesRead::Brought();
    entry->value.emplace(*std::move(fetched));
    entry->done = true;
    used_bytes_ += entry->bytes;
    return Lend(entry);
  }

  // Lends the piece to an already counted user.
  Piece Lend(const SharedEntry& entry) {
    return {&*entry->value, [this, entry](const Value*) {
              absl::MutexLock lock(&mu_);
              if (--entry->users > 0) return;
              used_bytes_ -= entry->bytes;
              idle_bytes_ += entry->bytes;
              entry->idle = idle_.insert(idle_.begin(), entry->key);
              Drop(0);
            }};
  }

  mutable absl::Mutex mu_;
  int64_t max_bytes_ ABSL_GUARDED_BY(mu_);
  int64_t fetching_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t idle_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Key, SharedEntry> entries_ ABSL_GUARDED_BY(mu_);
  std::list<Key> idle_ ABSL_GUARDED_BY(mu_);  // most recently used first
};

}  // namespace gandem
