// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_host.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gandem {
namespace {

// What workers that take turns on a core lose, for each that is there beside
// one: of the 18 % that four processes on two busy cores were slower than one
// of two threads (docs/performance.md, Fleets), sums are 3 and smaller
// slices 5.
constexpr double kTurnLoss = 0.1;

}  // namespace

SimulatedHost::SimulatedHost(const HostShape& shape, int threads, int processes,
                             EventQueue* queue)
    : queue_(queue),
      cores_(shape.cores),
      speed_(shape.speed),
      has_devices_(shape.has_devices),
      is_shared_(processes > 1 && !shape.has_devices),
      free_cores_(shape.has_devices ? shape.cores : shape.cores - threads) {}

void SimulatedHost::Compute(int threads, const ComputeCost& cost,
                            EventQueue::Event done) {
  const double alone = cost.alone / speed_;
  if (!is_shared_) {
    // Threads beyond the cores take turns.
    const double crowd =
        has_devices_ ? 1 : std::max(1.0, static_cast<double>(threads) / cores_);
    queue_->At(queue_->now() + alone * crowd, std::move(done));
    return;
  }
  CatchUp();
  tasks_.push_back({.threads = threads,
                    .slowdown = cost.alone > 0 ? cost.beside / cost.alone : 1,
                    .left = alone,
                    .done = std::move(done)});
  Plan();
}

double SimulatedHost::PaceOf(const Task& task, int active) const {
  const double others = active - task.threads;
  const double free = cores_ - task.threads;
  const double company =
      others <= 0 ? 0 : (free <= 0 ? 1 : std::min(1.0, others / free));
  const double load = std::max(1.0, static_cast<double>(active) / cores_);
  const double crowd = load * (1 + kTurnLoss * (load - 1));
  return 1 / ((1 + (task.slowdown - 1) * company) * crowd);
}

void SimulatedHost::CatchUp() {
  const double elapsed = queue_->now() - last_change_;
  for (Task& task : tasks_) {
    task.left = std::max(0.0, task.left - elapsed * task.pace);
  }
  last_change_ = queue_->now();
}

void SimulatedHost::Plan() {
  ++plan_;
  if (tasks_.empty()) return;
  int active = 0;
  for (const Task& task : tasks_) active += task.threads;
  double next = std::numeric_limits<double>::infinity();
  for (Task& task : tasks_) {
    task.pace = PaceOf(task, active);
    next = std::min(next, task.left / task.pace);
  }
  queue_->At(queue_->now() + next, [this, plan = plan_] { Finish(plan); });
}

void SimulatedHost::Finish(int64_t plan) {
  if (plan != plan_) return;
  CatchUp();
  // Who this end was planned for has nothing left but rounding.
  const auto first = std::ranges::min_element(
      tasks_, {}, [](const Task& task) { return task.left / task.pace; });
  first->left = 0;
  std::vector<EventQueue::Event> done;
  std::erase_if(tasks_, [&done](Task& task) {
    if (task.left > 0) return false;
    done.push_back(std::move(task.done));
    return true;
  });
  Plan();
  for (const EventQueue::Event& event : done) event();
}

}  // namespace gandem
