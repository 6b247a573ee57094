// SPDX-License-Identifier: Apache-2.0
//
// The cores of a host, and the workers that compute on them at once. One that
// computes beside others takes longer (docs/cost_model.md section 2):
//
//   seconds = alone + (beside - alone) * min(1, others / (cores - threads))
//
// with `others` the threads of the other workers that compute at the moment.
// Where all of them have l > 1 times as many threads as there are cores they
// take turns, and it takes l (1 + 0.1 (l - 1)) times as long. Who waits takes
// nothing.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "scaling_manager/planner/model/compute_cost.h"
#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/event_queue.h"

namespace gandem {

class SimulatedHost {
 public:
  // Of all its workers `threads` threads. The queue outlives it.
  SimulatedHost(const HostShape& shape, int threads, int processes,
                EventQueue* queue);

  // Calls `done` when a worker with `threads` has computed for `cost`.
  void Compute(int threads, const ComputeCost& cost, EventQueue::Event done);

  // Of the cores, those that the workers' threads leave free; below 0 where
  // they leave none.
  double free_cores() const { return free_cores_; }
  bool has_devices() const { return has_devices_; }

 private:
  struct Task {
    int threads = 1;
    double slowdown = 1;  // beside / alone
    double left = 0;      // seconds alone
    double pace = 1;      // of them, in a second
    EventQueue::Event done = {};
  };

  // What was computed since the last change.
  void CatchUp();
  // New paces, and the next end.
  void Plan();
  void Finish(int64_t plan);
  double PaceOf(const Task& task, int active) const;

  EventQueue* const queue_;
  const int cores_;
  const double speed_;
  const bool has_devices_;
  const bool is_shared_;
  const double free_cores_;

  std::vector<Task> tasks_;
  double last_change_ = 0;
  int64_t plan_ = 0;  // older ones are void
};

}  // namespace gandem
