// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner_commands/replan_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/round_times.h"
#include "scaling_manager/planner/model/profile_probes.h"
#include "scaling_manager/planner_commands/plan_file.h"

namespace gandem {
std::string ShapeOf(const Candidate& candidate) {
  return absl::StrCat(
      candidate.config().generator().workers(), " generator and ",
      candidate.config().discriminator().workers(), " discriminator workers");
}

ReplanWatch::ReplanWatch(const Plan& plan, Profile profile, PlanModels models)
    : current_(plan.candidates(0)),
      machines_(plan.machines()),
      profile_(std::move(profile)),
      models_(std::move(models)),
      judge_(ShapeOf(plan.candidates(0))) {}

void ReplanWatch::Add(const RoundMetrics& metrics) {
  const RoundTimes times = TimesOf(metrics);
  absl::MutexLock lock(&mu_);
  Measured& measured = measured_[metrics.role()];
  ++measured.rounds;
  measured.round_seconds += times.round;
  measured.busy_seconds +=
      times.round - times.images - times.feedback - times.cache;
  measured.images += metrics.images();
}

Profile ReplanWatch::Corrected(const std::map<Role, Measured>& measured) const {
  Profile profile = profile_;
  const Prediction& predicted = current_.prediction();
  for (const auto& [role, of] : measured) {
    const double wait = role == GENERATOR ? predicted.generator_wait()
                                          : predicted.discriminator_wait();
    const double expected = predicted.round_seconds() * (1 - wait);
    if (!(expected > 0) || of.busy_seconds <= 0) continue;
    const double factor =
        of.busy_seconds / static_cast<double>(of.rounds) / expected;
    for (Probe& probe : *profile.mutable_probes()) {
      if (probe.settings().role() == role) ScaleProbe(factor, probe);
    }
  }
  return profile;
}

std::optional<ReplanWatch::Proposal> ReplanWatch::Check() {
  std::map<Role, Measured> measured;
  {
    absl::MutexLock lock(&mu_);
    measured.swap(measured_);
  }
  const Measured& seen = measured[DISCRIMINATOR];
  if (seen.rounds == 0 || seen.round_seconds <= 0) return std::nullopt;
  // Ranks work side by side.
  const double images_per_second = static_cast<double>(seen.images) /
                                   seen.round_seconds *
                                   current_.config().discriminator().workers();
  PlanModels models = models_;
  // A run keeps its optimizers.
  models.choose_optimizers = [](RunConfig&) {
    return std::vector<std::string>();
  };
  // Few shapes are left, and the present one has to be among them.
  models.predict_roughly = nullptr;
  const auto plan =
      FindPlan({.recipe = current_.config(),
                .profile = Corrected(measured),
                .machines = machines_,
                .space = SpaceOfResume(current_.config(), IsColocated(current_),
                                       machines_)},
               models);
  if (!plan.ok()) return std::nullopt;
  // Numbers of workers do not change how many images are needed.
  std::vector<ShapeSpeed> shapes;
  for (const Candidate& candidate : plan->candidates()) {
    shapes.push_back(
        {ShapeOf(candidate), candidate.prediction().images_per_second()});
  }
  const auto proposal = judge_.Check(images_per_second, shapes);
  if (!proposal.has_value()) return std::nullopt;
  for (const Candidate& candidate : plan->candidates()) {
    if (ShapeOf(candidate) != proposal->shape) continue;
    return Proposal{
        absl::StrFormat("replan: %s would be %.0f %% faster than %s, which has "
                        "%.1f images/s (predicted: %.1f)",
                        proposal->shape, 100 * proposal->gain,
                        ShapeOf(current_), images_per_second,
                        current_.prediction().images_per_second()),
        candidate};
  }
  return std::nullopt;
}

void ReplanWatch::Enter(const Candidate& candidate) {
  judge_.Enter(ShapeOf(candidate));
  current_ = candidate;
  absl::MutexLock lock(&mu_);
  measured_.clear();
}

}  // namespace gandem
