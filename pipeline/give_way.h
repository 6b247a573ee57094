// SPDX-License-Identifier: Apache-2.0
//
// Reads that need the same piece of a source, of which one brings it. The
// others may go away in place of waiting, and come back when that one has
// ended: the thread can read something else meanwhile.
//
//   const ScopedGiveWay way({.owner = this, .number = 7});
//   auto bytes = store.Fetch(index);
//   if (!bytes.ok() && way.gave_way_to().has_value()) {
//     // Again, when that read has ended.
//   }
//
// Owner: the function that reads. Thread safety: a scope belongs to the thread
// that made it; what brings a piece for others asks.
#pragma once

#include <cstdint>
#include <optional>

namespace gandem {

// `owner` says who counts its reads by `number`; null: nobody's.
struct ReadId {
  const void* owner = nullptr;
  int64_t number = 0;
};

class ScopedGiveWay {
 public:
  explicit ScopedGiveWay(const ReadId& id) : id_(id), outer_(current_) {
    current_ = this;
  }
  ScopedGiveWay(const ScopedGiveWay&) = delete;
  ScopedGiveWay& operator=(const ScopedGiveWay&) = delete;
  ~ScopedGiveWay() { current_ = outer_; }

  // The number of the owner's read that brings what this one needs.
  std::optional<int64_t> gave_way_to() const { return gave_way_to_; }

  // Every piece that it needed was there.
  bool was_at_hand() const { return found_ && brought_bytes_ == 0; }
  // Of the pieces that it brought.
  int64_t brought_bytes() const { return brought_bytes_; }

  // The calling thread's read.
  static ReadId Current() {
    return current_ == nullptr ? ReadId() : current_->id_;
  }
  // It has brought a piece of so many bytes, or found one.
  static void Brought(int64_t bytes) {
    if (current_ != nullptr) current_->brought_bytes_ += bytes;
  }
  static void Found() {
    if (current_ != nullptr) current_->found_ = true;
  }
  // Whether the calling thread's read returns CANCELLED now, as `other` brings
  // what it needs. Of another owner's read it would not hear the end.
  static bool GivesWayTo(const ReadId& other) {
    if (current_ == nullptr || other.owner == nullptr ||
        current_->id_.owner != other.owner) {
      return false;
    }
    current_->gave_way_to_ = other.number;
    return true;
  }

 private:
  inline static thread_local ScopedGiveWay* current_ = nullptr;
  const ReadId id_;
  ScopedGiveWay* const outer_;
  std::optional<int64_t> gave_way_to_;
  bool found_ = false;
  int64_t brought_bytes_ = 0;
};

}  // namespace gandem
