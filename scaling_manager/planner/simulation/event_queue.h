// SPDX-License-Identifier: Apache-2.0
//
// Runs events in order of virtual time. Events of the same time run in the
// order in which they were added, so a simulation is a pure function.
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

  // Returns the seconds since the beginning of the simulation.
  double now() const { return now_; }

  void At(double time, Event event) {
    GANDEM_CHECK(time >= now_);
    events_.emplace(time, std::move(event));
  }

  // Runs the next event. Returns false if there is none.
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
