// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/row_group_cache.h"

#include <utility>

namespace gandem {
namespace {

// It brings all of its parts itself, or waits for them.
absl::StatusOr<RowGroupImages> AsOneRead(RowGroupCache::Load load) {
  const ScopedGiveWay none(ReadId{});
  return load();
}

}  // namespace

absl::StatusOr<RowGroupCache::Images> RowGroupCache::Get(int64_t key,
                                                         Load load) {
  std::shared_ptr<Entry> entry;
  {
    absl::MutexLock lock(&mu_);
    std::shared_ptr<Entry>& place = entries_[key];
    if (place != nullptr) {
      entry = place;
      if (!entry->is_done && ScopedGiveWay::GivesWayTo(entry->reader)) {
        return absl::CancelledError("another read brings it");
      }
      ScopedGiveWay::Found();
      // Whoever reads it comes to an end: DataWorkerPool does.
      mu_.Await(absl::Condition(&entry->is_done));
      if (!entry->status.ok()) return entry->status;
      const auto there = entries_.find(key);
      if (there != entries_.end() && there->second == entry) {
        used_.splice(used_.begin(), used_, entry->used);
      }
      return entry->images;
    }
    place = entry = std::make_shared<Entry>();
    entry->reader = ScopedGiveWay::Current();
  }
  absl::StatusOr<RowGroupImages> loaded = AsOneRead(load);
  absl::MutexLock lock(&mu_);
  entry->is_done = true;
  if (!loaded.ok()) {
    entry->status = loaded.status();
    entries_.erase(key);
    return loaded.status();
  }
  entry->images = std::make_shared<const RowGroupImages>(*std::move(loaded));
  ScopedGiveWay::Brought(entry->images->memory_bytes());
  Keep(key, *entry);
  return entry->images;
}

void RowGroupCache::Keep(int64_t key, Entry& entry) {
  used_.push_front(key);
  entry.used = used_.begin();
  bytes_ += entry.images->memory_bytes();
  while (bytes_ > most_bytes_ && used_.size() > 1) {
    const auto oldest = entries_.find(used_.back());
    bytes_ -= oldest->second->images->memory_bytes();
    entries_.erase(oldest);
    used_.pop_back();
  }
}

}  // namespace gandem
