// SPDX-License-Identifier: Apache-2.0
//
// What the operations of a role cost, from the probes of a profile: the time of
// a probe's step by its micro-batches, linear in the images of one between the
// measured sizes, and beyond them on (docs/cost_model.md section 1). Where one
// size was measured, the line is that of a mode or of threads that have more.
// What every mode does is known from the probes of all of them.
//
// Owner: values; copy freely. A ProfileCosts is of whoever predicts. Thread
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

// Seconds of computing, of which there are two kinds: with the machine to
// itself, and with the rest of the machine's cores busy too (memory bandwidth,
// caches, clock). What lies between is SimulatedHost's.
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

  // `settings` are resolved; the profile is checked.
  static absl::StatusOr<RoleCosts> Create(const Profile& profile,
                                          const RoleSettings& settings);

  ComputeCost Of(Operation operation, int64_t images) const;
  // Of a step of `images` in so many passes: what no operation covers of a
  // measured round, and what it takes to cut the step.
  ComputeCost Rest(int64_t images, int64_t passes) const;
  // From now on all of it takes `factor` times as long.
  void Scale(double factor);

 private:
  struct Lines {
    MeasuredLine alone;
    MeasuredLine beside;
  };

  using OperationLines = std::map<Operation, Lines>;

  // Which probes are asked first.
  enum class Schedules { kSame, kAll };

  // Of the probes with the schedule of `settings`, or with any.
  static OperationLines MeasuredLines(const Profile& profile,
                                      const RoleSettings& settings,
                                      Schedules schedules);
  // Gives operations that were measured at one size the shape that they have
  // elsewhere.
  static void TakeShapes(const Profile& profile, const RoleSettings& settings,
                         OperationLines& lines);
  // MeasuredLines and what can be known of others from them.
  static OperationLines LinesOf(const Profile& profile,
                                const RoleSettings& settings,
                                Schedules schedules);
  // Of steps that are not cut, from the probes of this schedule where they have
  // an operation: what rounds of it are compared with.
  static absl::StatusOr<RoleCosts> WholeSteps(const Profile& profile,
                                              const RoleSettings& settings);
  void ReadRests(const Profile& profile, const RoleSettings& settings);
  // From the probes of all modes and threads together: what a cut costs is less
  // than two probes of the same differ by.
  void ReadCuts(const Profile& profile, const RoleSettings& settings);

  OperationLines lines_;
  MeasuredLine rest_;
  double cut_seconds_ = 0;  // of each pass after the first
  double factor_ = 1;
  double beside_ratio_ = 1;  // of a round, where an operation has none itself
};

// What a rank computes for an operation of its round; waiting costs nothing.
ComputeCost CostOf(const GeneratorOp& op, const Schedule& schedule,
                   const RoleCosts& times);
ComputeCost CostOf(const DiscriminatorOp& op, const RoleCosts& times);

// Of a role's whole round in a probe, which is one step, from its operations.
double ProbedRoundSeconds(Role role, const ProbeSettings& settings,
                          const RoleCosts& times);

// A profile with what the operations of its roles cost, which a search asks for
// thousands of times and for few settings: each is found once. The profile is
// checked, outlives it and does not change.
class ProfileCosts {
 public:
  // Implicit: for a single prediction the profile is all there is to know.
  ProfileCosts(const Profile& profile)  // NOLINT(google-explicit-constructor)
      : profile_(profile) {}
  ProfileCosts(const ProfileCosts&) = delete;
  ProfileCosts& operator=(const ProfileCosts&) = delete;

  const Profile& profile() const { return profile_; }
  // RoleCosts::Create() of settings that are resolved; valid as long as this.
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
