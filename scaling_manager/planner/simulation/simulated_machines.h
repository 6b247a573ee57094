// SPDX-License-Identifier: Apache-2.0
//
// What workers share in virtual time: the cores of a host, the network, and the
// sums of a fleet (docs/cost_model.md sections 2 to 4).
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/event_queue.h"

namespace gandem {

// The cores of a host, and the workers that compute on them at once. One that
// computes beside others takes longer:
//
//   seconds = alone + (beside - alone) * min(1, others / (cores - threads))
//
// with `others` the threads of the other workers that compute at the moment.
// Where all of them have l > 1 times as many threads as there are cores they
// take turns, and it takes l (1 + 0.1 (l - 1)) times as long. A worker that
// waits takes nothing.
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

// Bytes on their way. What leaves a host, and what comes to it, is one after
// the other, in the order of sending, at the speed of the link; between two
// processes of a host the same holds for the sending process.
class SimulatedNetwork {
 public:
  // The shape and the queue outlive it.
  SimulatedNetwork(const RunShape* shape, EventQueue* queue);

  // Calls `arrived` when all bytes are there.
  void Send(size_t from_process, size_t to_process, int64_t bytes,
            EventQueue::Event arrived);
  // A word without bytes.
  void Notify(size_t from_process, size_t to_process,
              EventQueue::Event arrived);

  // A sum between hosts that takes `seconds` from `start` at the earliest, of
  // which each host sends and receives `bytes`; returns when it ends. It
  // begins when all their links are free.
  double Sum(const std::vector<size_t>& hosts, double start, double seconds,
             int64_t bytes);

  // Processor seconds of a message at each end.
  double ComputeSeconds(size_t from_process, size_t to_process,
                        int64_t bytes) const;

  // Sent so far between two hosts, by both of their numbers, lower first.
  using Pair = std::pair<size_t, size_t>;
  const std::map<Pair, int64_t>& bytes() const { return bytes_; }
  // Seconds in which a host's link was sending so far, by host.
  const std::vector<double>& busy_seconds() const { return busy_; }

 private:
  const LinkLine& LineOf(size_t from_process, size_t to_process) const;
  void Count(size_t from_host, size_t to_host, int64_t bytes);

  const RunShape* const shape_;
  EventQueue* const queue_;
  // When they are free again.
  std::vector<double> sending_;     // by host
  std::vector<double> receiving_;   // by host
  std::vector<double> in_process_;  // by process
  std::map<Pair, int64_t> bytes_;
  std::vector<double> busy_;
};

// What the ranks of a fleet sum: the gradients of a step, part by part while
// the backward pass goes on, or their states now and then. A part begins when
// all ranks have launched it and the part before has ended.
class SimulatedSums {
 public:
  // `wake` is called for all ranks when the last part has ended.
  SimulatedSums(int ranks, std::vector<SumPart> parts,
                std::vector<size_t> hosts, SimulatedNetwork* network,
                EventQueue* queue, std::function<void()> wake);

  int parts() const { return static_cast<int>(parts_.size()); }
  int num_hosts() const { return static_cast<int>(hosts_.size()); }
  // A rank has its part `part` ready. A rank begins the next step's only when
  // this step's are completed.
  void Launch(int part);
  // Steps whose sums are there.
  int64_t completed() const { return completed_; }

 private:
  void Begin();

  const int ranks_;
  const std::vector<SumPart> parts_;
  const std::vector<size_t> hosts_;
  SimulatedNetwork* const network_;
  EventQueue* const queue_;
  const std::function<void()> wake_;

  std::vector<int> launched_;  // by part: by how many ranks
  int next_ = 0;               // the part that begins next
  bool is_busy_ = false;
  int64_t completed_ = 0;
};

}  // namespace gandem
