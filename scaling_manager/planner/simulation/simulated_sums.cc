// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/simulation/simulated_sums.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gandem {
namespace {

int64_t CeilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What a host sends to the next one.
int64_t SentBytes(int64_t bytes, size_t hosts) {
  if (hosts < 2) return 0;
  const double others = static_cast<double>(hosts - 1);
  return std::llround(2 * others / static_cast<double>(hosts) *
                      static_cast<double>(bytes));
}

// A buffer that travels in buckets of `bucket` bytes.
SimulatedSums::Part SumOf(const RunShape& shape, const RoleShape& role,
                          int64_t bytes, int64_t bucket) {
  const std::vector<int> ranks = shape.RanksByHost(role);
  const double crowding = shape.Crowding(role);
  SimulatedSums::Part part;
  for (int64_t first = 0; first < bytes; first += bucket) {
    const int64_t size = std::min(bucket, bytes - first);
    part.seconds += shape.links.AllReduceSeconds(size, ranks, crowding);
    part.bytes += SentBytes(size, ranks.size());
  }
  return part;
}

}  // namespace

SimulatedSums::SimulatedSums(int ranks, std::vector<Part> parts,
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
  const Part& part = parts_[next_];
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

std::vector<SimulatedSums::Part> GradientParts(const RunShape& shape,
                                               const RoleShape& role,
                                               int most_parts) {
  const int64_t bytes = std::max<int64_t>(1, role.state.parameter_bytes());
  const int64_t bucket = role.sums.bucket_bytes;
  const int64_t buckets = CeilOf(bytes, bucket);
  const int64_t num_parts = std::min<int64_t>(most_parts, buckets);
  std::vector<SimulatedSums::Part> parts;
  for (int64_t i = 0; i < num_parts; ++i) {
    // Whole buckets, as even as they go.
    const int64_t first = i * buckets / num_parts * bucket;
    const int64_t end = std::min(bytes, (i + 1) * buckets / num_parts * bucket);
    parts.push_back(SumOf(
        shape, role,
        std::llround(static_cast<double>(end - first) * role.sums.wire_factor),
        std::max<int64_t>(1, std::llround(static_cast<double>(bucket) *
                                          role.sums.wire_factor))));
  }
  parts.front().seconds += shape.links.BroadcastSeconds(
      role.state.buffer_bytes(), shape.RanksByHost(role));
  return parts;
}

std::vector<SimulatedSums::Part> StateParts(const RunShape& shape,
                                            const RoleShape& role) {
  const int64_t bytes = role.network_bytes() + role.state.optimizer_bytes();
  return {SumOf(shape, role, bytes, role.sums.bucket_bytes)};
}

}  // namespace gandem
