// SPDX-License-Identifier: Apache-2.0
//
// Bytes on their way. What leaves a host, and what comes to it, is one after
// the other, in the order of sending, at the speed of the link; between two
// processes of a host the same holds for the sending process
// (docs/cost_model.md section 3).
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scaling_manager/planner/model/run_shape.h"
#include "scaling_manager/planner/simulation/event_queue.h"

namespace gandem {

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

}  // namespace gandem
