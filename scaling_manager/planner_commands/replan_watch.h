// SPDX-License-Identifier: Apache-2.0
//
// --replan: at each checkpoint the profile is corrected by how long the roles
// really compute, and the shapes that the run could be resumed in (other
// numbers of workers) are predicted again. ReplanJudge decides.
//
// Owner: `gandem train`, over all starts of its run.
// Thread safety: Add from any thread; the rest from one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/metrics.pb.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/search/search.h"
#include "scaling_manager/planner_commands/replan.h"

namespace gandem {

class ReplanWatch {
 public:
  // `plan`: its first candidate is what runs. `profile`: of its config.
  ReplanWatch(const Plan& plan, Profile profile, PlanModels models);

  void Add(const RoundMetrics& metrics);

  struct Proposal {
    std::string line = {};  // for the user
    Candidate candidate = {};
  };
  // A checkpoint is there, and the rounds since the last one are judged.
  std::optional<Proposal> Check();

  // The run goes on by this one.
  void Enter(const Candidate& candidate);

 private:
  // Of the rounds since the last check, over all ranks.
  struct Measured {
    int64_t rounds = 0;
    double round_seconds = 0;
    double busy_seconds = 0;  // not waiting for the other role
    int64_t images = 0;
  };

  Profile Corrected(const std::map<Role, Measured>& measured) const;

  Candidate current_;
  const Machines machines_;
  const Profile profile_;
  const PlanModels models_;
  ReplanJudge judge_;
  absl::Mutex mu_;
  std::map<Role, Measured> measured_ ABSL_GUARDED_BY(mu_);
};

// "1 generator and 2 discriminator workers"
std::string ShapeOf(const Candidate& candidate);

}  // namespace gandem
