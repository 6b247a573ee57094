// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/role_costs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/status.h"

namespace gandem {
namespace {

// Returns whether an operation runs once per micro-batch and grows with its
// images. Other operations run once per step.
bool Grows(OperationTime::Operation operation) {
  return operation != OperationTime::UPDATE &&
         operation != OperationTime::CAPTURE_CRITIC &&
         operation != OperationTime::LOAD_CRITIC;
}

bool IsRoundOf(const Probe& probe, Role role) {
  return probe.outcome() == Probe::MEASURED && probe.has_round() &&
         probe.settings().role() == role;
}

bool SameSchedule(const Probe& probe, const RoleSettings& wanted) {
  return probe.settings().feedback() == wanted.feedback &&
         probe.settings().image_source() == wanted.image_source;
}

// Compares all settings except contention.
bool IsSameProbe(const ProbeSettings& a, const ProbeSettings& b) {
  return a.batch_size() == b.batch_size() &&
         a.micro_batch() == b.micro_batch() && a.precision() == b.precision() &&
         a.layout() == b.layout() && a.threads() == b.threads() &&
         a.feedback() == b.feedback() && a.image_source() == b.image_source();
}

// Returns the mean ratio of a round beside the other role to a round alone,
// over the probes that were measured in both ways, or 1.
double BesideRatioOf(const Profile& profile, Role role) {
  double sum = 0;
  int pairs = 0;
  for (const Probe& beside : profile.probes()) {
    if (!IsRoundOf(beside, role) || !beside.settings().beside_other_role()) {
      continue;
    }
    for (const Probe& alone : profile.probes()) {
      if (!IsRoundOf(alone, role) || alone.settings().beside_other_role() ||
          !IsSameProbe(alone.settings(), beside.settings()) ||
          !(alone.round().median_seconds() > 0)) {
        continue;
      }
      sum += beside.round().median_seconds() / alone.round().median_seconds();
      ++pairs;
    }
  }
  return pairs == 0 ? 1 : std::max(1.0, sum / pairs);
}

// Returns whether some probes have whole steps. If so, probes with several
// passes only measure the cost of cutting.
bool HasWholeSteps(const Profile& profile, const RoleSettings& settings) {
  return std::ranges::any_of(
      ProbesOf(profile, settings),
      [](const Probe* probe) { return PassesOf(probe->settings()) == 1; });
}

// Returns the probes with points of lines: whole steps if there are any.
std::vector<const Probe*> LineProbes(const Profile& profile,
                                     const RoleSettings& settings) {
  std::vector<const Probe*> probes = ProbesOf(profile, settings);
  if (HasWholeSteps(profile, settings)) {
    std::erase_if(probes, [](const Probe* probe) {
      return PassesOf(probe->settings()) > 1;
    });
  }
  return probes;
}

// Returns probes of this schedule, alone, with several passes per step.
std::vector<const Probe*> CutProbes(const Profile& profile,
                                    const RoleSettings& settings) {
  std::vector<const Probe*> probes = ProbesOf(profile, settings);
  std::erase_if(probes, [&](const Probe* probe) {
    return PassesOf(probe->settings()) == 1 || !probe->has_round() ||
           probe->settings().beside_other_role() ||
           !SameSchedule(*probe, settings);
  });
  return probes;
}

std::vector<OperationTime::Operation> Needed(const RoleSettings& settings) {
  if (settings.role == GENERATOR) {
    std::vector<OperationTime::Operation> needed = {
        OperationTime::FORWARD, OperationTime::BACKWARD, OperationTime::UPDATE};
    if (settings.feedback == ScheduleConfig::SNAPSHOT) {
      needed.push_back(OperationTime::JUDGE);
    }
    if (settings.image_source == ScheduleConfig::FRESH) {
      needed.push_back(OperationTime::MAKE_IMAGES);
    }
    return needed;
  }
  std::vector<OperationTime::Operation> needed = {
      OperationTime::REAL, OperationTime::GENERATED, OperationTime::UPDATE};
  if (settings.feedback == ScheduleConfig::IMAGE_GRADIENT) {
    needed.push_back(OperationTime::ANSWER);
  }
  return needed;
}

}  // namespace

absl::StatusOr<RoleCosts> RoleCosts::Create(const Profile& profile,
                                            const RoleSettings& settings) {
  GANDEM_ASSIGN_OR_RETURN(RoleCosts times, WholeSteps(profile, settings));
  times.ReadCuts(profile, settings);
  // An operation takes the same time in every mode, so use the probes of all
  // modes: more probes, at other times, are more accurate.
  times.lines_ = LinesOf(profile, settings, Schedules::kAll);
  return times;
}

absl::StatusOr<RoleCosts> RoleCosts::WholeSteps(const Profile& profile,
                                                const RoleSettings& settings) {
  RoleCosts times;
  times.lines_ = LinesOf(profile, settings, Schedules::kSame);
  for (const Operation operation : Needed(settings)) {
    const auto lines = times.lines_.find(operation);
    if (lines == times.lines_.end() || lines->second.alone.empty()) {
      return NotMeasured(profile, settings,
                         OperationTime::Operation_Name(operation));
    }
  }
  // Contention is assumed to be the same for all kernels and threads.
  times.beside_ratio_ = BesideRatioOf(profile, settings.role);
  times.ReadRests(profile, settings);
  return times;
}

RoleCosts::OperationLines RoleCosts::MeasuredLines(const Profile& profile,
                                                   const RoleSettings& settings,
                                                   Schedules schedules) {
  OperationLines found;
  for (const Probe* const probe : LineProbes(profile, settings)) {
    if (schedules == Schedules::kSame && !SameSchedule(*probe, settings)) {
      continue;
    }
    const ProbeSettings& probed = probe->settings();
    for (const OperationTime& time : probe->operations()) {
      const Operation operation = time.operation();
      if (operation == OperationTime::GENERATED &&
          !SamePasses(*probe, settings)) {
        continue;
      }
      const auto [lines, is_new] =
          found.try_emplace(operation, Lines{MeasuredLine(Grows(operation)),
                                             MeasuredLine(Grows(operation))});
      const int64_t times = Grows(operation) ? PassesOf(probed) : 1;
      (probed.beside_other_role() ? lines->second.beside : lines->second.alone)
          .Add(PassImages(probed),
               time.median_seconds() / static_cast<double>(times));
    }
  }
  // Fall back on the times beside the other role.
  for (auto& [operation, lines] : found) {
    if (lines.alone.empty()) lines.alone = lines.beside;
  }
  return found;
}

void RoleCosts::TakeShapes(const Profile& profile, const RoleSettings& settings,
                           OperationLines& lines) {
  const auto has_one_size = [](const auto& entry) {
    return Grows(entry.first) && entry.second.alone.num_sizes() == 1;
  };
  for (const RoleSettings& other : OthersOf(profile, settings)) {
    if (std::ranges::none_of(lines, has_one_size)) break;
    const OperationLines theirs =
        MeasuredLines(profile, other, Schedules::kSame);
    for (auto& [operation, own] : lines) {
      const auto found = theirs.find(operation);
      if (found != theirs.end()) own.alone.TakeShapeOf(found->second.alone);
    }
  }
  for (auto& [operation, own] : lines) own.beside.TakeShapeOf(own.alone);
}

RoleCosts::OperationLines RoleCosts::LinesOf(const Profile& profile,
                                             const RoleSettings& settings,
                                             Schedules schedules) {
  OperationLines lines = MeasuredLines(profile, settings, schedules);
  // Use other schedules for operations that these probes lack.
  lines.merge(MeasuredLines(profile, settings, Schedules::kAll));
  TakeShapes(profile, settings, lines);
  // Making images takes hardly less time than a forward pass with a graph.
  const auto forward = lines.find(OperationTime::FORWARD);
  if (forward != lines.end()) {
    const Lines& with_graph = forward->second;
    lines.try_emplace(OperationTime::MAKE_IMAGES, with_graph)
        .first->second.alone.TakeShapeOf(with_graph.alone);
  }
  return lines;
}

void RoleCosts::ReadRests(const Profile& profile,
                          const RoleSettings& settings) {
  MeasuredLine rest;
  for (const Probe* const probe : LineProbes(profile, settings)) {
    const ProbeSettings& probed = probe->settings();
    if (!probe->has_round() || probed.beside_other_role() ||
        !SameSchedule(*probe, settings)) {
      continue;
    }
    const double unexplained = probe->round().median_seconds() -
                               ProbedRoundSeconds(settings.role, probed, *this);
    rest.Add(probed.batch_size(), std::max(0.0, unexplained));
  }
  rest_ = rest;
}

void RoleCosts::ReadCuts(const Profile& profile, const RoleSettings& settings) {
  if (!HasWholeSteps(profile, settings)) return;  // the lines contain the cuts
  std::vector<RoleSettings> all = OthersOf(profile, settings);
  all.push_back(settings);
  double sum = 0;
  int count = 0;
  for (const RoleSettings& other : all) {
    const std::vector<const Probe*> probes = CutProbes(profile, other);
    if (probes.empty() || other.precision != settings.precision ||
        other.layout != settings.layout) {
      continue;
    }
    RoleSettings mode = settings;
    mode.feedback = other.feedback;
    mode.image_source = other.image_source;
    const absl::StatusOr<RoleCosts> there = WholeSteps(profile, other);
    const absl::StatusOr<RoleCosts> here = WholeSteps(profile, mode);
    if (!there.ok() || !here.ok()) continue;
    for (const Probe* const probe : probes) {
      const ProbeSettings& probed = probe->settings();
      const double whole = ProbedRoundSeconds(settings.role, probed, *there);
      if (!(whole > 0)) continue;
      // Assumes the same slowdown as in the measured configuration.
      sum += (probe->round().median_seconds() / whole - 1) *
             ProbedRoundSeconds(settings.role, probed, *here) /
             static_cast<double>(PassesOf(probed) - 1);
      ++count;
    }
  }
  if (count > 0) cut_seconds_ = std::max(0.0, sum / count);
}

void RoleCosts::Scale(double factor) { factor_ *= factor; }

ComputeCost RoleCosts::Of(Operation operation, int64_t images) const {
  const auto found = lines_.find(operation);
  if (found == lines_.end() || images <= 0) return {};
  const double alone = found->second.alone.At(images);
  const double beside = found->second.beside.empty()
                            ? alone * beside_ratio_
                            : found->second.beside.At(images);
  return {.alone = factor_ * alone,
          .beside = factor_ * std::max(alone, beside)};
}

ComputeCost RoleCosts::Rest(int64_t images, int64_t passes) const {
  const double cuts = static_cast<double>(passes - 1) * cut_seconds_;
  const double rest = factor_ * std::max(0.0, rest_.At(images) + cuts);
  return {.alone = rest, .beside = rest * beside_ratio_};
}

ComputeCost CostOf(const GeneratorOp& op, const Schedule& schedule,
                   const RoleCosts& times) {
  using Kind = GeneratorOp::Kind;
  const int64_t images = op.range.count;
  switch (op.kind) {
    case Kind::kMakeImages:
      return times.Of(OperationTime::MAKE_IMAGES, images);
    case Kind::kForward:
      return times.Of(OperationTime::FORWARD, images);
    case Kind::kTakeCritic:
      // The cost does not depend on images.
      return times.Of(OperationTime::LOAD_CRITIC, 1);
    case Kind::kBackward:
      return times.Of(OperationTime::BACKWARD, images) +
             (schedule.AnswersImages()
                  ? ComputeCost()
                  : times.Of(OperationTime::JUDGE, images));
    case Kind::kUpdate:
      return times.Of(OperationTime::UPDATE, 1);
    case Kind::kTakeFeedback:
    case Kind::kSendImages:
    case Kind::kSendForward:
      return {};
  }
  return {};
}

ComputeCost CostOf(const DiscriminatorOp& op, const RoleCosts& times) {
  using Kind = DiscriminatorOp::Kind;
  const int64_t images = op.range.count;
  switch (op.kind) {
    case Kind::kReal:
      return times.Of(OperationTime::REAL, images);
    case Kind::kGenerated:
      return times.Of(OperationTime::GENERATED, images);
    case Kind::kUpdate:
      return times.Of(OperationTime::UPDATE, 1);
    case Kind::kTake:
      return {};
  }
  return {};
}

double ProbedRoundSeconds(Role role, const ProbeSettings& settings,
                          const RoleCosts& times) {
  const int64_t batch = settings.batch_size();
  const Schedule schedule = {
      .discriminator_steps_per_round = 1,
      .image_source = settings.image_source() == ScheduleConfig::FRESH
                          ? ImageSource::kFresh
                          : ImageSource::kReused,
      .feedback = static_cast<FeedbackMode>(settings.feedback()),
      .generator_batch = batch,
      .discriminator_batch = batch,
      .generator_micro_batch = settings.micro_batch(),
      .discriminator_micro_batch = settings.micro_batch()};
  ComputeCost sum = times.Rest(batch, PassesOf(settings));
  if (role == GENERATOR) {
    for (const GeneratorOp& op : GeneratorRound(schedule, 0, 0, 1)) {
      sum += CostOf(op, schedule, times);
    }
    return sum.alone;
  }
  for (const DiscriminatorOp& op : DiscriminatorRound(schedule, 0, 1)) {
    sum += CostOf(op, times);
  }
  if (!schedule.AnswersImages()) {
    sum += times.Of(OperationTime::CAPTURE_CRITIC, batch);
  } else if (!schedule.JudgesInTraining()) {
    for (const IndexRange& piece :
         MicroBatches({.count = batch}, settings.micro_batch())) {
      sum += times.Of(OperationTime::ANSWER, piece.count);
    }
  }
  return sum.alone;
}

}  // namespace gandem
