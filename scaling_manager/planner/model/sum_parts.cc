// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {
namespace {

// Largest number of launches of gradients in a backward pass. More launches
// would slow the simulation down and not change the result.
constexpr int kMostLaunches = 8;

int64_t CeilOf(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t SentBytes(int64_t bytes, size_t hosts) {
  if (hosts < 2) return 0;
  const double others = static_cast<double>(hosts - 1);
  return std::llround(2 * others / static_cast<double>(hosts) *
                      static_cast<double>(bytes));
}

// Returns the sum of a buffer in buckets of `bucket` bytes.
SumPart SumOf(const RunShape& shape, const RoleShape& role, int64_t bytes,
              int64_t bucket) {
  const std::vector<int> ranks = shape.RanksByHost(role);
  const double crowding = shape.Crowding(role);
  SumPart part;
  for (int64_t first = 0; first < bytes; first += bucket) {
    const int64_t size = std::min(bucket, bytes - first);
    part.seconds += shape.links.AllReduceSeconds(size, ranks, crowding);
    part.bytes += SentBytes(size, ranks.size());
  }
  return part;
}

}  // namespace

std::vector<SumPart> GradientParts(const RunShape& shape,
                                   const RoleShape& role) {
  const int64_t bytes = std::max<int64_t>(1, role.state.parameter_bytes());
  const int64_t bucket = role.sums.bucket_bytes;
  const int64_t buckets = CeilOf(bytes, bucket);
  const int64_t num_parts = std::min<int64_t>(kMostLaunches, buckets);
  std::vector<SumPart> parts;
  for (int64_t i = 0; i < num_parts; ++i) {
    // Whole buckets, distributed as evenly as possible.
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

std::vector<SumPart> StateParts(const RunShape& shape, const RoleShape& role) {
  const int64_t bytes = role.network_bytes() + role.state.optimizer_bytes();
  return {SumOf(shape, role, bytes, role.sums.bucket_bytes)};
}

}  // namespace gandem
