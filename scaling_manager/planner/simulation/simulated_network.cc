// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_network.h"

#include <algorithm>

namespace gandem {

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
    // The link is free in the pauses between hops.
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

}  // namespace gandem
