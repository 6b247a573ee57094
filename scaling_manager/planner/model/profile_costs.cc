// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/profile_costs.h"

#include <utility>

namespace gandem {

const absl::StatusOr<RoleCosts>& ProfileCosts::Of(
    const RoleSettings& settings) const {
  {
    absl::MutexLock lock(&mu_);
    const auto known = known_.find(settings);
    if (known != known_.end()) return known->second;
  }
  // Two threads may find the same at the same time: the first one's counts.
  absl::StatusOr<RoleCosts> costs = RoleCosts::Create(profile_, settings);
  absl::MutexLock lock(&mu_);
  return known_.try_emplace(settings, std::move(costs)).first->second;
}

}  // namespace gandem
