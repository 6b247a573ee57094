// SPDX-License-Identifier: Apache-2.0
#include "control_plane/doctor/host_checks.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/role_device.h"
#include "common/files/quantities.h"

namespace gandem {
namespace {

constexpr int64_t kFewDescriptors = 4096;

// Bytes of all workers of the host that needs most by the plan. Of workers on
// GPUs the plan predicts the GPU's memory, so they do not count.
int64_t LargestHost(const Candidate& plan) {
  std::map<std::string, int64_t> hosts;
  for (const PlacedWorker& worker : plan.placement().workers()) {
    const Prediction& prediction = plan.prediction();
    const bool is_generator = worker.role() == GENERATOR;
    const RoleConfig& role = is_generator ? plan.config().generator()
                                          : plan.config().discriminator();
    if (IsOnGpu(role)) continue;
    hosts[worker.host()] += is_generator ? prediction.generator_bytes()
                                         : prediction.discriminator_bytes();
  }
  int64_t most = 0;
  for (const auto& [host, bytes] : hosts) most = std::max(most, bytes);
  return most;
}

}  // namespace

Finding CheckMemory(const Candidate* plan, int64_t free_bytes) {
  const std::string free = BytesText(free_bytes) + " of memory are free";
  const int64_t needed = plan == nullptr ? 0 : LargestHost(*plan);
  if (needed == 0)
    return Fine("memory", free + "; no plan says what is needed");
  if (needed <= free_bytes) {
    return Fine("memory", absl::StrCat(free, ", the plan's fullest host needs ",
                                       BytesText(needed)));
  }
  return Fault("memory",
               absl::StrCat(free, ", but the plan's fullest host needs ",
                            BytesText(needed)),
               "end what else runs here, plan with --memory, or take smaller "
               "micro-batches");
}

Finding CheckDescriptors(int64_t limit) {
  const std::string text =
      absl::StrCat("a process may have ", limit, " files and connections open");
  if (limit >= kFewDescriptors) return Fine("descriptors", text);
  return Warning(
      "descriptors", text,
      absl::StrCat("raise the hard limit (ulimit -Hn) to ", kFewDescriptors,
                   " where fleets or data folders are large"));
}

}  // namespace gandem
