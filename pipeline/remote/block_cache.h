// SPDX-License-Identifier: Apache-2.0
//
// Blocks of remote files in memory: the ones that were used last, up to a
// number of bytes, blocks that are being fetched or used included. Threads that
// want the same block wait for one fetch of it.
//
// Owner: a RemoteStore, which outlives all blocks. Thread safety: any thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "pipeline/give_way.h"
#include "pipeline/memory/page_allocator.h"

namespace gandem {

class BlockCache {
 public:
  // What names a block: its file and version, and its number.
  using Key = std::pair<std::string, int64_t>;
  using Block = std::shared_ptr<const PagedString>;  // in use while it is held
  using Fetch = absl::FunctionRef<absl::StatusOr<PagedString>()>;

  explicit BlockCache(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Changes how many bytes it may hold by `change`.
  void Resize(int64_t change);

  // The block of `bytes` bytes; where it is not here, `fetch` brings it, called
  // without a lock. Its failure is that of all who wait for it, unless it was
  // only stopped (CANCELLED): then another one of them fetches. Who gives way
  // (give_way.h) does not wait for another read that fetches it. When fetches
  // and blocks in use fill the cache, waits until one has ended.
  //   CANCELLED          stopped by read_stop.h, or gave way.
  //   DEADLINE_EXCEEDED  other threads fetched until then.
  absl::StatusOr<Block> Get(const Key& key, int64_t bytes, absl::Time deadline,
                            Fetch fetch);

  // Takes room from blocks for what somebody else holds; false: there is not
  // enough.
  bool Reserve(int64_t bytes);
  // For what can be done without: false also where fetches and blocks in use
  // leave no room.
  bool ReserveSpare(int64_t bytes);
  void Release(int64_t bytes) { Resize(bytes); }

  int64_t held_bytes() const;

 private:
  struct Entry {
    Key key;
    int64_t bytes = 0;
    ReadId reader = {};  // who fetches it
    bool done = false;
    absl::Status failure = absl::OkStatus();
    PagedString block = {};
    int64_t users = 0;                   // who wait for it or hold it
    std::list<Key>::iterator idle = {};  // in idle_, where nobody uses it
  };
  using SharedEntry = std::shared_ptr<Entry>;

  bool ReserveBeside(int64_t kept, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Drop(int64_t room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Uses what is there already, or is being fetched.
  absl::StatusOr<Block> Use(const SharedEntry& entry, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Block> FetchEntry(const SharedEntry& entry,
                                   absl::Time deadline, Fetch fetch);
  // One user less of what is done.
  void Leave(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Block Lend(const SharedEntry& entry);
  bool HasRoom(int64_t bytes) const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return fetching_bytes_ == 0 ||
           fetching_bytes_ + used_bytes_ + bytes <= max_bytes_;
  }

  mutable absl::Mutex mu_;
  int64_t max_bytes_ ABSL_GUARDED_BY(mu_);
  int64_t fetching_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t idle_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<Key, SharedEntry> entries_ ABSL_GUARDED_BY(mu_);
  std::list<Key> idle_ ABSL_GUARDED_BY(mu_);  // the last one used in front
};

}  // namespace gandem
