// SPDX-License-Identifier: Apache-2.0
//
// Costs of a role's operations, from the probes of a profile: the time of a
// micro-batch as a function of its images, linear between the measured sizes
// and extrapolated beyond them (docs/cost_model.md section 1). If only one size
// was measured, the shape comes from another mode or thread count. Operations
// that all modes share use the probes of all modes.
// Owner: values; copy freely. A ProfileCosts belongs to its caller. Thread
// safety: one thread.
// Errors: those of profile_probes.h.
#pragma once

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"
#include "exchange/schedule.h"
#include "proto/profile.pb.h"
#include "scaling_manager/planner/model/measured_line.h"
#include "scaling_manager/planner/model/profile_probes.h"

namespace gandem {

// Seconds of computing, alone on the machine and with all other cores busy
// (memory bandwidth, caches, clock). SimulatedHost interpolates between both.
struct ComputeCost {
  double alone = 0;
  double beside = 0;  // >= alone

  ComputeCost& operator+=(const ComputeCost& other) {
    alone += other.alone;
    beside += other.beside;
    return *this;
  }
  friend ComputeCost operator+(ComputeCost a, const ComputeCost& b) {
    return a += b;
  }
  friend ComputeCost operator*(double factor, const ComputeCost& cost) {
    return {.alone = factor * cost.alone, .beside = factor * cost.beside};
  }
  bool operator==(const ComputeCost&) const = default;
};

class RoleCosts {
 public:
  using Operation = OperationTime::Operation;

  // Requires resolved `settings` and a checked profile.
  static absl::StatusOr<RoleCosts> Create(const Profile& profile,
                                          const RoleSettings& settings);

  ComputeCost Of(Operation operation, int64_t images) const;
  // Returns the time that no operation of a step of `images` in `passes` passes
  // covers: the rest of a measured round, and the cost of cutting the step.
  ComputeCost Rest(int64_t images, int64_t passes) const;
  void Scale(double factor);

 private:
  struct Lines {
    MeasuredLine alone;
    MeasuredLine beside;
  };

  using OperationLines = std::map<Operation, Lines>;

  // Probes to use: those with the same schedule, or all.
  enum class Schedules { kSame, kAll };

  static OperationLines MeasuredLines(const Profile& profile,
                                      const RoleSettings& settings,
                                      Schedules schedules);
  // Gives operations of a single size the shape of other settings.
  static void TakeShapes(const Profile& profile, const RoleSettings& settings,
                         OperationLines& lines);
  // Returns MeasuredLines() with the lines that follow from them.
  static OperationLines LinesOf(const Profile& profile,
                                const RoleSettings& settings,
                                Schedules schedules);
  // Returns the costs of whole steps, preferably from probes of the same
  // schedule, for comparison with the rounds of that schedule.
  static absl::StatusOr<RoleCosts> WholeSteps(const Profile& profile,
                                              const RoleSettings& settings);
  void ReadRests(const Profile& profile, const RoleSettings& settings);
  // Uses probes of all modes and threads, because a cut costs less than noise.
  void ReadCuts(const Profile& profile, const RoleSettings& settings);

  OperationLines lines_;
  MeasuredLine rest_;
  double cut_seconds_ = 0;  // per pass after the first
  double factor_ = 1;
  double beside_ratio_ = 1;  // for operations without a measured ratio
};

// Returns the cost of a rank's operation in its round; waiting costs nothing.
ComputeCost CostOf(const GeneratorOp& op, const Schedule& schedule,
                   const RoleCosts& times);
ComputeCost CostOf(const DiscriminatorOp& op, const RoleCosts& times);

// Returns the time of a role's round in a probe: the sum of its operations.
double ProbedRoundSeconds(Role role, const ProbeSettings& settings,
                          const RoleCosts& times);

// Costs of the operations of a profile's roles, cached by settings for
// searches. The profile must be checked, outlive this object and not change.
class ProfileCosts {
 public:
  // Implicit, because a single prediction needs only the profile.
  ProfileCosts(const Profile& profile)  // NOLINT(google-explicit-constructor)
      : profile_(profile) {}
  ProfileCosts(const ProfileCosts&) = delete;
  ProfileCosts& operator=(const ProfileCosts&) = delete;

  const Profile& profile() const { return profile_; }
  // Returns RoleCosts::Create() of resolved settings, owned by this object.
  const absl::StatusOr<RoleCosts>& Of(const RoleSettings& settings) const {
    const auto known = known_.find(settings);
    if (known != known_.end()) return known->second;
    return known_.emplace(settings, RoleCosts::Create(profile_, settings))
        .first->second;
  }

 private:
  const Profile& profile_;
  mutable std::map<RoleSettings, absl::StatusOr<RoleCosts>> known_;
};

}  // namespace gandem
