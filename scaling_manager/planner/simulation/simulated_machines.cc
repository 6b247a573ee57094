// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_machines.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gandem {
namespace {

// Loss of workers that share cores, for each process per core beyond one. Four
// processes on two busy cores were 18 % slower than one with two threads
// (docs/performance.md, Fleets). Sums explain 3 % of that, smaller slices 5 %.
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
  // The task that ends now has only rounding errors left.
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

SimulatedNetwork::SimulatedNetwork(const RunShape* shape, EventQueue* queue)
    : shape_(shape),
      queue_(queue),
      sending_(shape->hosts.size(), 0),
      receiving_(shape->hosts.size(), 0),
      in_process_(shape->processes.size(), 0),
      busy_(shape->hosts.size(), 0) {}

const LinkLine& SimulatedNetwork::LineOf(size_t from_process,
                                         size_t to_process) const {
  if (from_process == to_process) return shape_->links.memory;
  return shape_->processes[from_process].host ==
                 shape_->processes[to_process].host
             ? shape_->links.socket
             : shape_->links.network;
}

void SimulatedNetwork::Count(size_t from_host, size_t to_host, int64_t bytes) {
  bytes_[std::minmax(from_host, to_host)] += bytes;
}

void SimulatedNetwork::Send(size_t from_process, size_t to_process,
                            int64_t bytes, EventQueue::Event arrived) {
  const LinkLine& line = LineOf(from_process, to_process);
  const size_t from = shape_->processes[from_process].host;
  const size_t to = shape_->processes[to_process].host;
  const double seconds = line.Occupied(bytes);
  double end = 0;
  if (from == to) {
    double& free = in_process_[from_process];
    end = free = std::max(queue_->now(), free) + seconds;
  } else {
    end = std::max({queue_->now(), sending_[from], receiving_[to]}) + seconds;
    sending_[from] = receiving_[to] = end;
    busy_[from] += seconds;
    Count(from, to, bytes);
  }
  queue_->At(end + line.latency, std::move(arrived));
}

void SimulatedNetwork::Notify(size_t from_process, size_t to_process,
                              EventQueue::Event arrived) {
  queue_->At(queue_->now() + LineOf(from_process, to_process).latency,
             std::move(arrived));
}

double SimulatedNetwork::Sum(const std::vector<size_t>& hosts, double start,
                             double seconds, int64_t bytes) {
  if (hosts.size() < 2) return start + seconds;
  for (const size_t host : hosts) {
    start = std::max({start, sending_[host], receiving_[host]});
  }
  const double sent = shape_->links.sum_network.Occupied(bytes);
  for (size_t i = 0; i < hosts.size(); ++i) {
    // The link is free between hops.
    sending_[hosts[i]] = receiving_[hosts[i]] = start + sent;
    busy_[hosts[i]] += sent;
    Count(hosts[i], hosts[(i + 1) % hosts.size()], bytes);
  }
  return start + seconds;
}

double SimulatedNetwork::ComputeSeconds(size_t from_process, size_t to_process,
                                        int64_t bytes) const {
  return LineOf(from_process, to_process).compute_seconds_per_byte *
         static_cast<double>(bytes) / 2;
}

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
