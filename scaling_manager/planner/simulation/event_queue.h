// SPDX-License-Identifier: Apache-2.0
//
// Virtual time: what happens, in its order. Events of one moment happen in the
// order in which they were planned, so a simulation is a pure function.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <algorithm>
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
    heap_.push_back({time, planned_++, std::move(event)});
    std::ranges::push_heap(heap_, Later);
  }

  // False: nothing is left to happen.
  bool RunNext() {
    if (heap_.empty()) return false;
    std::ranges::pop_heap(heap_, Later);
    Entry next = std::move(heap_.back());
    heap_.pop_back();
    now_ = next.time;
    next.event();
    return true;
  }

 private:
  struct Entry {
    double time = 0;
    int64_t number = 0;
    Event event = {};
  };
  static bool Later(const Entry& a, const Entry& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  std::vector<Entry> heap_;
  int64_t planned_ = 0;
  double now_ = 0;
};

}  // namespace gandem
