// SPDX-License-Identifier: Apache-2.0
//
// Decides which generated images are accepted and which are repeats, from the
// window of rounds and the accepted ranges (design.md section 6).
//
// Owner: DiscriminatorEnd, under its mutex. Thread safety: one thread. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "absl/status/statusor.h"
#include "exchange/exchange.h"
#include "exchange/schedule.h"

namespace gandem {

// Set of indices, stored as disjoint ranges.
class IndexSet {
 public:
  // Adds a range and merges adjacent ranges.
  void Add(IndexRange range) {
    int64_t first = range.first;
    int64_t end = range.end();
    auto it = ends_.upper_bound(first);
    if (it != ends_.begin() && std::prev(it)->second >= first) --it;
    while (it != ends_.end() && it->first <= end) {
      first = std::min(first, it->first);
      end = std::max(end, it->second);
      it = ends_.erase(it);
    }
    ends_[first] = end;
  }

  bool Contains(IndexRange range) const {
    const auto it = ends_.upper_bound(range.first);
    return it != ends_.begin() && std::prev(it)->second >= range.end();
  }

  bool Overlaps(IndexRange range) const {
    const auto it = ends_.lower_bound(range.end());
    return it != ends_.begin() && std::prev(it)->second > range.first;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // end by first
};

class ImageLedger {
 public:
  enum class Verdict { kNew, kRepeat };

  ImageLedger(const Schedule& schedule, int64_t first_round)
      : schedule_(schedule),
        first_round_(first_round),
        oldest_unfinished_(first_round),
        forgotten_before_(first_round) {}

  // Classifies a batch. Late retransmissions of used images are kRepeat.
  //   FAILED_PRECONDITION  the round is outside the accepted window
  //   INVALID_ARGUMENT     the range was cut differently the first time
  absl::StatusOr<Verdict> Check(const ImageBatch& batch) const;

  // Records an accepted batch, which makes its retransmissions repeats.
  void Record(const ImageBatch& batch);

  // Records that all rounds before `round` are completed; never goes back.
  void Advance(int64_t round);

  int64_t oldest_unfinished() const { return oldest_unfinished_; }
  int64_t newest_accepted() const {
    return NewestAccepted(schedule_, oldest_unfinished_);
  }
  static constexpr int64_t NewestAccepted(const Schedule& schedule,
                                          int64_t oldest_unfinished) {
    return oldest_unfinished + schedule.lag;
  }

 private:
  struct Accepted {
    IndexSet train;
    IndexSet feedback;
  };

  // Returns the oldest round in which new ranges are accepted.
  int64_t OldestAccepted(ImageUse use) const;

  Schedule schedule_;
  int64_t first_round_;
  int64_t oldest_unfinished_;
  int64_t forgotten_before_;              // older rounds count as repeats
  std::map<int64_t, Accepted> accepted_;  // by round
};

}  // namespace gandem
