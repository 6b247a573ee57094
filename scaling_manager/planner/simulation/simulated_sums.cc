// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_sums.h"

#include <algorithm>
#include <utility>

namespace gandem {

SimulatedSums::SimulatedSums(int ranks, std::vector<SumPart> parts,
                             std::vector<size_t> hosts,
                             SimulatedNetwork* network, EventQueue* queue,
                             std::function<void()> wake)
    : ranks_(ranks),
      parts_(std::move(parts)),
      hosts_(std::move(hosts)),
      network_(network),
      queue_(queue),
      wake_(std::move(wake)),
      launched_(parts_.size(), 0) {}

void SimulatedSums::Launch(int part) {
  ++launched_[part];
  if (!is_busy_) Begin();
}

void SimulatedSums::Begin() {
  if (launched_[next_] < ranks_) return;
  is_busy_ = true;
  const SumPart& part = parts_[next_];
  const double end =
      network_->Sum(hosts_, queue_->now(), part.seconds, part.bytes);
  queue_->At(end, [this] {
    is_busy_ = false;
    launched_[next_] = 0;
    if (++next_ < parts()) {
      Begin();
      return;
    }
    next_ = 0;
    ++completed_;
    wake_();
  });
}

}  // namespace gandem
