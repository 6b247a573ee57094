// SPDX-License-Identifier: Apache-2.0
//
// Worker process with one compute thread that runs the operations of its role
// or, if colocated, of both roles in turn (training/roles/run_roles.h).
// Owner: the simulation. Thread safety: one thread.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "scaling_manager/planner/model/role_costs.h"
#include "scaling_manager/planner/simulation/event_queue.h"
#include "scaling_manager/planner/simulation/simulated_machines.h"

namespace gandem {

enum class RoleWait { kNone, kOtherRole, kCache, kFleet, kData };
inline constexpr size_t kNumRoleWaits = 5;
// Seconds of waiting, by reason.
using RoleWaits = std::array<double, kNumRoleWaits>;

// Operations of one role, in order.
class SimulatedRole {
 public:
  virtual ~SimulatedRole() = default;

  struct Step {
    enum class Kind { kAdvanced, kComputes, kWaits };
    Kind kind = Kind::kAdvanced;
    ComputeCost cost = {};
  };
  Step Next();

  RoleWait wait() const { return wait_; }

 protected:
  // Adds the tasks of the next round.
  virtual void PlanRound() = 0;

  void Compute(ComputeCost cost) { tasks_.push_back({.cost = cost}); }
  void Do(std::function<void()> action) {
    tasks_.push_back({.attempt = [action = std::move(action)] {
      action();
      return true;
    }});
  }
  // Waits until `attempt` returns true. Every Wake() repeats the attempt.
  void Await(RoleWait wait, std::function<bool()> attempt) {
    tasks_.push_back({.wait = wait, .attempt = std::move(attempt)});
  }
  // Lets an attempt compute `cost` and run `then` before the attempt is
  // repeated or, if the attempt succeeded, before the next task.
  void First(ComputeCost cost, std::function<void()> then);

 private:
  struct Task {
    ComputeCost cost = {};
    RoleWait wait = RoleWait::kNone;
    std::function<bool()> attempt = {};  // empty: compute
  };

  std::deque<Task> tasks_;
  std::vector<Task> first_;
  RoleWait wait_ = RoleWait::kNone;
};

class SimulatedWorker {
 public:
  SimulatedWorker(int threads, SimulatedHost* host, EventQueue* queue)
      : threads_(threads), host_(host), queue_(queue) {}

  // `role` must outlive the worker.
  void Add(SimulatedRole* role) { roles_.push_back(role); }
  // Reports a change that a role may wait for.
  void Wake();

  // Returns the seconds that the `role`-th role waited on the idle thread.
  RoleWaits Waited(size_t role) const;

 private:
  void Run();
  void EndIdle();

  const int threads_;
  SimulatedHost* const host_;
  EventQueue* const queue_;
  std::vector<SimulatedRole*> roles_;
  size_t current_ = 0;
  bool is_busy_ = false;
  bool is_running_ = false;
  bool is_idle_ = false;
  double idle_since_ = 0;
  std::vector<RoleWaits> waited_;
};

}  // namespace gandem
