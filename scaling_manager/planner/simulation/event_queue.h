// SPDX-License-Identifier: Apache-2.0
//
// Virtual time: what happens, in its order. Events of one moment happen in the
// order in which they were planned, so a simulation is a pure function.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <functional>
#include <map>
#include <utility>

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
    events_.emplace(time, std::move(event));
  }

  // False: nothing is left to happen.
  bool RunNext() {
    if (events_.empty()) return false;
    const auto next = events_.extract(events_.begin());
    now_ = next.key();
    next.mapped()();
    return true;
  }

 private:
  std::multimap<double, Event>
      events_;  // equal times in the order of insertion
  double now_ = 0;
};

}  // namespace gandem
