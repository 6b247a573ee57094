// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/closed_form.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {
namespace {

// Share of a step's computing during which sums may run (chosen).
constexpr double kHidesSums = 0.5;

// Seconds of an operation on the slowest host of a role's ranks.
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

struct Sums {
  double seconds = 0;
  // Time that no computing can hide.
  double bare = 0;
  double bytes = 0;  // sent by a host
};

Sums SumsOf(const RunShape& shape, const RoleShape& role) {
  if (role.size() < 2) return {};
  const bool averages = role.sums.averages_state;
  const double updates =
      static_cast<double>(role.role == DISCRIMINATOR
                              ? shape.schedule.discriminator_steps_per_round
                              : 1) /
      static_cast<double>(averages ? role.sums.interval : 1);
  const std::vector<SumPart> parts =
      averages ? StateParts(shape, role) : GradientParts(shape, role);
  Sums sums = {.bare = updates * parts.back().seconds};
  for (const SumPart& part : parts) {
    sums.seconds += updates * part.seconds;
    sums.bytes += updates * static_cast<double>(part.bytes);
  }
  return sums;
}

// Adds a role's sums to `times`. Returns their time beyond `computing`.
double AddSums(const RunShape& shape, const RoleShape& role, double computing,
               PipelineTimes& times) {
  const Sums sums = SumsOf(shape, role);
  times.sums_link += shape.links.sum_network.Occupied(std::llround(sums.bytes));
  return std::max(sums.bare, sums.seconds - kHidesSums * computing);
}

// Returns the time to decode the real images of a round beyond the
// discriminator's own computing. Without a free core, the worker decodes.
double DecodeSeconds(const RunShape& shape, double computing) {
  if (shape.images_per_decode_thread <= 0) return 0;
  const RoleShape& role = shape.discriminator;
  const size_t host = shape.HostOf(role, 0);
  const double ranks = std::ranges::max(shape.RanksByHost(role));
  const double decoders =
      std::max(0, shape.hosts[host].cores - shape.ThreadsOn(host)) / ranks;
  const double seconds = static_cast<double>(shape.RoundImages(DISCRIMINATOR)) /
                         shape.images_per_decode_thread;
  return std::max(std::max(0.0, 1 - decoders) * seconds,
                  seconds / std::max(1.0, decoders) - computing);
}

void AddGenerator(const RunShape& shape, PipelineTimes& times) {
  const Schedule& schedule = shape.schedule;
  const RoleShape& role = shape.generator;
  const RankSeconds seconds_of(shape, role);
  const int64_t images = shape.RoundImages(GENERATOR);
  double seconds = seconds_of(role.times.Rest(
      images, NumPasses(images, schedule.generator_micro_batch)));
  for (const GeneratorOp& op : GeneratorRound(schedule, 0, 0, role.size())) {
    const double of_op = seconds_of(CostOf(op, schedule, role.times));
    seconds += of_op;
    if (op.kind == GeneratorOp::Kind::kMakeImages ||
        op.kind == GeneratorOp::Kind::kForward) {
      times.forward += of_op;
    }
  }
  times.generator = seconds + AddSums(shape, role, seconds, times);
}

void AddDiscriminator(const RunShape& shape, PipelineTimes& times) {
  using Kind = DiscriminatorOp::Kind;
  const Schedule& schedule = shape.schedule;
  const RoleShape& role = shape.discriminator;
  const RankSeconds seconds_of(shape, role);
  const int64_t images =
      shape.RoundImages(DISCRIMINATOR) / schedule.discriminator_steps_per_round;
  const double rest = seconds_of(role.times.Rest(
      images, NumPasses(images, schedule.discriminator_micro_batch)));
  bool has_images = false;
  for (const DiscriminatorOp& op :
       DiscriminatorRound(schedule, 0, role.size())) {
    if (op.kind == Kind::kTake && !has_images) {
      has_images = true;
      times.before_images = times.discriminator;
    }
    double seconds = seconds_of(CostOf(op, role.times));
    if (op.kind == Kind::kUpdate) seconds += rest;
    if (op.kind == Kind::kGenerated) {
      times.until_answer = times.discriminator - times.before_images +
                           shape.answer_part * seconds;
    }
    times.discriminator += seconds;
  }
  const double computing = times.discriminator;
  times.discriminator +=
      AddSums(shape, role, computing, times) + DecodeSeconds(shape, computing);
  if (schedule.JudgesInTraining()) return;
  if (!schedule.AnswersImages()) {
    times.boundary =
        seconds_of(role.times.Of(OperationTime::CAPTURE_CRITIC, 1));
    return;
  }
  const int64_t judged = ImagesJudgedBy(schedule, 0, role.size());
  times.boundary = seconds_of(role.times.Of(OperationTime::ANSWER, judged));
}

std::vector<double> RanksOn(const RunShape& shape, const RoleShape& role) {
  std::vector<double> ranks(shape.hosts.size(), 0);
  for (int rank = 0; rank < role.size(); ++rank) {
    ++ranks[shape.HostOf(role, rank)];
  }
  return ranks;
}

// Returns the largest share of a round's images that leaves or reaches one
// host, if each generator sends to all discriminators.
double TravelingShare(const RunShape& shape) {
  const std::vector<double> generators = RanksOn(shape, shape.generator);
  const std::vector<double> discriminators =
      RanksOn(shape, shape.discriminator);
  double most = 0;
  for (size_t host = 0; host < generators.size(); ++host) {
    const double makes = generators[host] / shape.generator.size();
    const double takes = discriminators[host] / shape.discriminator.size();
    most = std::max({most, makes * (1 - takes), takes * (1 - makes)});
  }
  return most;
}

// Returns the largest number of critics that leave or reach one host.
double TravelingCritics(const RunShape& shape) {
  std::vector<double> left(shape.hosts.size(), 0);
  std::vector<double> came(shape.hosts.size(), 0);
  const int generators = shape.generator.size();
  for (int rank = 0; rank < generators; ++rank) {
    const size_t to = shape.HostOf(shape.generator, rank);
    const size_t from = shape.HostOf(
        shape.discriminator,
        CriticSource(rank, generators, shape.discriminator.size()));
    if (from == to) continue;
    ++left[from];
    ++came[to];
  }
  return std::max(std::ranges::max(left), std::ranges::max(came));
}

int64_t ImagesSent(const Schedule& schedule) {
  const bool sends_fresh = schedule.image_source == ImageSource::kFresh;
  return (schedule.SendsStepImages() ? schedule.generator_batch : 0) +
         (sends_fresh ? schedule.TrainImagesPerRound() : 0);
}

void AddLinks(const RunShape& shape, PipelineTimes& times) {
  const Schedule& schedule = shape.schedule;
  const double traveling = TravelingShare(shape);
  const bool is_one_host = traveling == 0;
  const LinkLine& line = is_one_host ? shape.links.socket : shape.links.network;
  // Within a host, each process sends independently.
  const double share = is_one_host ? 1.0 / shape.generator.size() : traveling;
  const double critics =
      is_one_host ? std::ceil(static_cast<double>(shape.generator.size()) /
                              shape.discriminator.size())
                  : TravelingCritics(shape);
  const double answered = share * static_cast<double>(schedule.generator_batch *
                                                      shape.feedback_bytes);
  const double critic_bytes =
      critics * static_cast<double>(shape.discriminator.network_bytes());
  times.latency = line.latency;
  times.images_link = line.Occupied(std::llround(
      share * static_cast<double>(ImagesSent(schedule) * shape.image_bytes)));
  times.feedback_link = line.Occupied(
      std::llround(schedule.AnswersImages() ? answered : critic_bytes));
}

void AddParts(const RunShape& shape, PipelineTimes& times) {
  const Schedule& schedule = shape.schedule;
  const int64_t made =
      NumPasses(shape.RoundImages(GENERATOR), schedule.generator_micro_batch);
  const int64_t taken = NumPasses(
      shape.RoundImages(DISCRIMINATOR) / schedule.discriminator_steps_per_round,
      schedule.discriminator_micro_batch);
  // IMAGE_GRADIENT answers each of the generator's parts in turn. With FUSED,
  // each discriminator answers the images that it has trained on.
  const bool asks = schedule.AnswersImages() && !schedule.JudgesInTraining();
  times.sent_parts = made;
  times.image_parts = asks ? made : std::min(made, taken);
  times.answer_parts =
      asks ? made : std::min(made, taken * shape.discriminator.size());
}

// Returns the time for `parts` parts to pass through stages in sequence: all of
// the longest stage, and one part of each other stage.
double StagesSeconds(std::initializer_list<double> stages, int64_t parts) {
  double sum = 0;
  for (const double stage : stages) sum += stage;
  const double longest = std::max(stages);
  return longest + (sum - longest) / static_cast<double>(parts);
}

// Returns the time until the generator has learned from the feedback on all of
// its images. `answering`: time to compute the feedback.
double AnsweredSeconds(const PipelineTimes& times, double answering) {
  const double backward = times.generator - times.forward;
  const double apart =
      StagesSeconds({times.forward, times.images_link}, times.sent_parts) +
      StagesSeconds({answering, times.feedback_link, backward},
                    times.answer_parts);
  if (times.image_parts == 1) return apart;
  return std::min(apart,
                  StagesSeconds({times.forward, times.images_link, answering,
                                 times.feedback_link, backward},
                                times.image_parts));
}

// Returns the time until the discriminator has trained on all images of a
// round. `training`: time to train on them.
double TrainedSeconds(const PipelineTimes& times, double training) {
  if (times.image_parts > 1) {
    return StagesSeconds({times.forward, times.images_link, training},
                         times.image_parts);
  }
  return training +
         StagesSeconds({times.forward, times.images_link}, times.sent_parts);
}

}  // namespace

PipelineTimes PipelineTimesOf(const RunShape& shape) {
  PipelineTimes times;
  AddGenerator(shape, times);
  AddDiscriminator(shape, times);
  if (!shape.colocated) AddLinks(shape, times);
  AddParts(shape, times);
  return times;
}

double PipelineRoundSeconds(const Schedule& schedule,
                            const PipelineTimes& times) {
  // Parts that never wait: each role, and the link.
  const double discriminator = times.discriminator + times.boundary;
  const double alone =
      std::max({times.generator, discriminator, times.images_link});
  // From the arrival of generated images to the end of the boundary.
  const double training = discriminator - times.before_images;
  if (!schedule.AnswersImages()) {
    // Critics and a round's images wait for the previous acknowledgment.
    const double slots =
        std::max(times.feedback_link, times.images_link) + 2 * times.latency;
    const double cycle = TrainedSeconds(times, training) + times.feedback_link +
                         2 * times.latency + times.generator - times.forward;
    return std::max(
        {alone, slots, cycle / static_cast<double>(1 + schedule.lag)});
  }
  // While the generator waits for feedback, it has no other round in progress.
  const double answering =
      schedule.JudgesInTraining() ? times.until_answer : times.boundary;
  const double before_answers =
      !schedule.JudgesInTraining() && schedule.lag == 0
          ? training - times.boundary
          : 0;
  return std::max(alone, AnsweredSeconds(times, answering) + before_answers +
                             2 * times.latency);
}

double RoughRoundSeconds(const RunShape& shape) {
  const PipelineTimes times = PipelineTimesOf(shape);
  if (shape.colocated) {
    return times.generator + times.discriminator + times.boundary;
  }
  // The link carries the sums, and then the exchange.
  return std::max(
      PipelineRoundSeconds(shape.schedule, times),
      times.sums_link + std::max(times.images_link, times.feedback_link));
}

}  // namespace gandem
