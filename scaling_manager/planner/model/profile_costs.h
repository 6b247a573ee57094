// SPDX-License-Identifier: Apache-2.0
//
// A profile with what the operations of its roles cost, which a search asks for
// thousands of times and for few settings: each is found once.
//
// Owner: whoever predicts; the profile is checked, outlives it and does not
// change. Thread safety: any thread.
#pragma once

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/planner/model/role_costs.h"

namespace gandem {

class ProfileCosts {
 public:
  // Implicit: for a single prediction the profile is all there is to know.
  ProfileCosts(const Profile& profile)  // NOLINT(google-explicit-constructor)
      : profile_(profile) {}
  ProfileCosts(const ProfileCosts&) = delete;
  ProfileCosts& operator=(const ProfileCosts&) = delete;

  const Profile& profile() const { return profile_; }
  // RoleCosts::Create() of settings that are resolved; valid as long as this.
  const absl::StatusOr<RoleCosts>& Of(const RoleSettings& settings) const;

 private:
  const Profile& profile_;

  mutable absl::Mutex mu_;
  mutable std::map<RoleSettings, absl::StatusOr<RoleCosts>> known_
      ABSL_GUARDED_BY(mu_);
};

}  // namespace gandem
