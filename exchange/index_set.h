// SPDX-License-Identifier: Apache-2.0
//
// A set of indices as disjoint ranges: which images of a round have been seen.
//
// Owner: values; copy freely. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "exchange/schedule.h"

namespace gandem {

class IndexSet {
 public:
  // Adjacent ranges become one.
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

  // All of the range.
  bool Contains(IndexRange range) const {
    const auto it = ends_.upper_bound(range.first);
    return it != ends_.begin() && std::prev(it)->second >= range.end();
  }

  // Any of the range.
  bool Overlaps(IndexRange range) const {
    const auto it = ends_.lower_bound(range.end());
    return it != ends_.begin() && std::prev(it)->second > range.first;
  }

 private:
  std::map<int64_t, int64_t> ends_;  // end by first
};

}  // namespace gandem
