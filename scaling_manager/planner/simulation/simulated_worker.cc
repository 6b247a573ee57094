// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_worker.h"

#include <iterator>

namespace gandem {

void SimulatedRole::First(ComputeCost cost, std::function<void()> then) {
  first_.push_back({.cost = cost});
  if (!then) return;
  first_.push_back({.attempt = [then = std::move(then)] {
    then();
    return true;
  }});
}

SimulatedRole::Step SimulatedRole::Next() {
  if (tasks_.empty()) PlanRound();
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  wait_ = RoleWait::kNone;
  if (!task.attempt) return {Step::Kind::kComputes, task.cost};
  const bool is_done = task.attempt();
  const RoleWait wait = task.wait;
  const bool has_first = !first_.empty();
  if (!is_done) tasks_.push_front(std::move(task));
  tasks_.insert(tasks_.begin(), std::make_move_iterator(first_.begin()),
                std::make_move_iterator(first_.end()));
  first_.clear();
  if (is_done || has_first) return {};
  wait_ = wait;
  return {Step::Kind::kWaits, {}};
}

void SimulatedWorker::Wake() {
  if (!is_busy_ && !is_running_) Run();
}

void SimulatedWorker::Run() {
  EndIdle();
  is_running_ = true;
  // A role runs until it waits; then the next role has a turn.
  for (size_t waiting = 0; waiting < roles_.size();) {
    const SimulatedRole::Step step = roles_[current_]->Next();
    if (step.kind == SimulatedRole::Step::Kind::kWaits) {
      ++waiting;
      current_ = (current_ + 1) % roles_.size();
      continue;
    }
    waiting = 0;
    if (step.kind == SimulatedRole::Step::Kind::kAdvanced) continue;
    if (step.cost.alone <= 0) continue;
    is_busy_ = true;
    is_running_ = false;
    host_->Compute(threads_, step.cost, [this] {
      is_busy_ = false;
      Run();
    });
    return;
  }
  is_running_ = false;
  is_idle_ = true;
  idle_since_ = queue_->now();
}

void SimulatedWorker::EndIdle() {
  waited_.resize(roles_.size());
  if (!is_idle_) return;
  for (size_t i = 0; i < roles_.size(); ++i) waited_[i] = Waited(i);
  is_idle_ = false;
}

RoleWaits SimulatedWorker::Waited(size_t role) const {
  RoleWaits waited = role < waited_.size() ? waited_[role] : RoleWaits{};
  if (is_idle_) {
    waited[static_cast<size_t>(roles_[role]->wait())] +=
        queue_->now() - idle_since_;
  }
  return waited;
}

}  // namespace gandem
