// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/closed_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gandem {
namespace {

// Of the computing of a round, in which sums may be under way.
constexpr double kHidesSums = 0.5;
// Of the sums, what is launched at last (kMostLaunches of the simulation).
constexpr double kLastLaunch = 1.0 / 8;

// Seconds of an operation of a role where its ranks are slowest.
class RankSeconds {
 public:
  RankSeconds(const RunShape& shape, const RoleShape& role) {
    std::vector<int> processes(shape.hosts.size(), 0);
    for (const ProcessShape& process : shape.processes) {
      ++processes[process.host];
    }
    for (const size_t process : role.processes) {
      const size_t number = shape.processes[process].host;
      const HostShape& host = shape.hosts[number];
      speed_ = std::min(speed_, host.speed);
      has_company_ =
          has_company_ || (processes[number] > 1 && !host.has_devices);
    }
  }
  double operator()(const ComputeCost& cost) const {
    return (has_company_ ? cost.beside : cost.alone) / speed_;
  }

 private:
  double speed_ = std::numeric_limits<double>::infinity();
  bool has_company_ = false;
};

int64_t NumPasses(int64_t images, int64_t micro_batch) {
  return micro_batch <= 0 ? 1 : (images + micro_batch - 1) / micro_batch;
}

// What of a role's sums its computing does not hide, a round.
double SumSeconds(const RunShape& shape, const RoleShape& role,
                  double computing) {
  if (role.size() < 2) return 0;
  const std::vector<int> ranks = shape.RanksByHost(role);
  const double crowding = shape.Crowding(role);
  if (role.sums.averages_state) {
    const int64_t bytes = role.network_bytes() + role.state.optimizer_bytes();
    return shape.links.AllReduceSeconds(bytes, ranks, crowding) /
           static_cast<double>(role.sums.interval);
  }
  const double bytes =
      static_cast<double>(role.state.parameter_bytes()) * role.sums.wire_factor;
  const double seconds =
      shape.links.AllReduceSeconds(std::llround(bytes), ranks, crowding);
  return std::max(kLastLaunch * seconds, seconds - kHidesSums * computing);
}

double GeneratorSeconds(const RunShape& shape) {
  const Schedule& schedule = shape.schedule;
  const RoleShape& role = shape.generator;
  const RankSeconds seconds_of(shape, role);
  const int64_t images = RankImages(schedule.generator_batch,
                                    schedule.generator_batches, 0, role.size());
  double seconds = seconds_of(role.times.Rest(
      images, NumPasses(images, schedule.generator_micro_batch)));
  for (const GeneratorOp& op : GeneratorRound(schedule, 0, 0, role.size())) {
    seconds += seconds_of(CostOf(op, schedule, role.times));
  }
  return seconds + SumSeconds(shape, role, seconds);
}

// Fills in what the discriminator does.
void AddDiscriminator(const RunShape& shape, PipelineTimes& times) {
  using Kind = DiscriminatorOp::Kind;
  const Schedule& schedule = shape.schedule;
  const RoleShape& role = shape.discriminator;
  const RankSeconds seconds_of(shape, role);
  const int64_t images =
      RankImages(schedule.discriminator_batch, schedule.discriminator_batches,
                 0, role.size());
  const double rest = seconds_of(role.times.Rest(
      images, NumPasses(images, schedule.discriminator_micro_batch)));
  bool has_images = false;
  for (const DiscriminatorOp& op :
       DiscriminatorRound(schedule, 0, role.size())) {
    if (op.kind == Kind::kTake && !has_images) {
      has_images = true;
      times.before_images = times.discriminator;
    }
    double seconds = seconds_of(CostOf(op, schedule, role.times));
    if (op.kind == Kind::kUpdate) seconds += rest;
    if (op.kind == Kind::kGenerated) {
      times.until_answer = times.discriminator - times.before_images +
                           shape.answer_part * seconds;
    }
    times.discriminator += seconds;
  }
  times.discriminator += SumSeconds(shape, role, times.discriminator);
  if (schedule.JudgesInTraining()) return;
  if (!schedule.AnswersImages()) {
    times.boundary =
        seconds_of(role.times.Of(OperationTime::CAPTURE_CRITIC, 1));
    return;
  }
  const int64_t judged = ImagesJudgedBy(schedule, 0, role.size());
  times.boundary = seconds_of(role.times.Of(OperationTime::DECODE, judged) +
                              role.times.Of(OperationTime::ANSWER, judged) +
                              role.times.Of(OperationTime::ENCODE, judged));
}

// The part of a fleet's images that leave its fullest host, or come there.
double FullestShare(const RunShape& shape, const RoleShape& role) {
  return static_cast<double>(std::ranges::max(shape.RanksByHost(role))) /
         role.size();
}

void AddLinks(const RunShape& shape, PipelineTimes& times) {
  const Schedule& schedule = shape.schedule;
  const bool is_one_host =
      FullestShare(shape, shape.generator) == 1 &&
      FullestShare(shape, shape.discriminator) == 1 &&
      shape.HostOf(shape.generator, 0) == shape.HostOf(shape.discriminator, 0);
  const LinkLine& line = is_one_host ? shape.links.socket : shape.links.network;
  // Within a host each process sends by itself.
  const double share = is_one_host
                           ? 1.0 / shape.generator.size()
                           : std::max(FullestShare(shape, shape.generator),
                                      FullestShare(shape, shape.discriminator));
  const auto occupied = [&](double bytes) {
    return line.Occupied(std::llround(bytes));
  };
  const double images = share * static_cast<double>(schedule.generator_batch);
  times.latency = line.latency;
  times.images_link = occupied(images * static_cast<double>(shape.image_bytes));
  if (schedule.AnswersImages()) {
    times.feedback_link =
        occupied(images * static_cast<double>(shape.feedback_bytes));
    return;
  }
  const double takers = std::ceil(static_cast<double>(shape.generator.size()) /
                                  shape.discriminator.size());
  times.feedback_link = occupied(
      takers * static_cast<double>(shape.discriminator.network_bytes()));
}

}  // namespace

PipelineTimes PipelineTimesOf(const RunShape& shape) {
  PipelineTimes times = {.generator = GeneratorSeconds(shape)};
  AddDiscriminator(shape, times);
  if (!shape.colocated) AddLinks(shape, times);
  return times;
}

double PipelineRoundSeconds(const Schedule& schedule,
                            const PipelineTimes& times) {
  const double links =
      times.images_link + times.feedback_link + 2 * times.latency;
  // Who never waits: either role, and the link.
  const double discriminator = times.discriminator + times.boundary;
  const double alone =
      std::max({times.generator, discriminator, times.images_link});
  // From the generated images to the end of the boundary.
  const double training = discriminator - times.before_images;
  if (!schedule.AnswersImages()) {
    // A critic leaves when the one before was acknowledged, and a round of
    // images when the one before was.
    const double slots =
        std::max(times.feedback_link, times.images_link) + 2 * times.latency;
    return std::max({alone, slots,
                     (times.generator + training + links) /
                         static_cast<double>(1 + schedule.lag)});
  }
  // The generator has no other round under way while it waits for an answer.
  const double answered = schedule.JudgesInTraining() ? times.until_answer
                          : schedule.lag == 0         ? training
                                                      : times.boundary;
  return std::max(alone, times.generator + answered + links);
}

double RoughRoundSeconds(const RunShape& shape) {
  const PipelineTimes times = PipelineTimesOf(shape);
  if (!shape.colocated) return PipelineRoundSeconds(shape.schedule, times);
  return times.generator + times.discriminator + times.boundary;
}

}  // namespace gandem
