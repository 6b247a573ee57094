// SPDX-License-Identifier: Apache-2.0
//
// Virtual time: what happens, in its order. Events of one moment happen in the
// order in which they were planned, so a simulation is a pure function.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "common/check.h"

namespace gandem {

class EventQueue {
 public:
  using Event = std::function<void()>;

  // Seconds since the beginning.
  double now() const { return now_; }

  // Not before now().
  void At(double time, Event event) {
    GANDEM_CHECK(time >= now_);
    if (free_.empty()) {
      free_.push_back(events_.size());
      events_.emplace_back();
    }
    const size_t at = free_.back();
    free_.pop_back();
    events_[at] = std::move(event);
    heap_.push_back({time, planned_++, at});
    std::ranges::push_heap(heap_, Later);
  }

  // False: nothing is left to happen.
  bool RunNext() {
    if (heap_.empty()) return false;
    std::ranges::pop_heap(heap_, Later);
    const Entry next = heap_.back();
    heap_.pop_back();
    free_.push_back(next.at);
    now_ = next.time;
    const Event event = std::move(events_[next.at]);
    event();
    return true;
  }

 private:
  // A heap moves its entries a lot, so events are elsewhere.
  struct Entry {
    double time = 0;
    int64_t number = 0;
    size_t at = 0;
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  std::vector<Entry> heap_;
  std::vector<Event> events_;
  std::vector<size_t> free_;  // of events_
  int64_t planned_ = 0;
  double now_ = 0;
};

}  // namespace gandem
