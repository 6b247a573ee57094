// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a fleet sum: the gradients of a step, part by part while
// the backward pass goes on, or their states now and then
// (docs/cost_model.md section 4). A part begins when all ranks have launched
// it and the part before has ended.
//
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scaling_manager/planner/model/sum_parts.h"
#include "scaling_manager/planner/simulation/event_queue.h"
#include "scaling_manager/planner/simulation/simulated_network.h"

namespace gandem {

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
