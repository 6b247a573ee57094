// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/planner/model/closed_form.h"

#include <algorithm>

namespace gandem {
namespace {

double GeneratorSeconds(const RunShape& shape) {
  double seconds =
      shape.generator.times.Rest(shape.schedule.generator_batch, 1).alone;
  for (const GeneratorOp& op : GeneratorRound(shape.schedule, 0, 0, 1)) {
    seconds += CostOf(op, shape.schedule, shape.generator.times).alone;
  }
  return seconds;
}

// Between rounds: answers, or the copy of a critic.
double BoundarySeconds(const RunShape& shape) {
  const RoleCosts& times = shape.discriminator.times;
  const int64_t images = shape.schedule.generator_batch;
  if (shape.schedule.JudgesInTraining()) return 0;
  if (!shape.schedule.AnswersImages()) {
    return times.Of(OperationTime::CAPTURE_CRITIC, 1).alone;
  }
  return times.Of(OperationTime::DECODE, images).alone +
         times.Of(OperationTime::ANSWER, images).alone +
         times.Of(OperationTime::ENCODE, images).alone;
}

}  // namespace

PipelineTimes PipelineTimesOf(const RunShape& shape) {
  using Kind = DiscriminatorOp::Kind;
  const Schedule& schedule = shape.schedule;
  const RoleCosts& discriminator = shape.discriminator.times;
  PipelineTimes times = {.generator = GeneratorSeconds(shape),
                         .boundary = BoundarySeconds(shape)};
  bool has_images = false;
  for (const DiscriminatorOp& op : DiscriminatorRound(schedule, 0, 1)) {
    if (op.kind == Kind::kTake && !has_images) {
      has_images = true;
      times.before_images = times.discriminator;
    }
    double seconds = CostOf(op, schedule, discriminator).alone;
    if (op.kind == Kind::kUpdate) {
      seconds += discriminator.Rest(schedule.discriminator_batch, 1).alone;
    }
    if (op.kind == Kind::kGenerated) {
      times.until_answer = times.discriminator - times.before_images +
                           shape.answer_part * seconds;
    }
    times.discriminator += seconds;
  }
  const LinkLine& line =
      shape.HostOf(shape.generator, 0) == shape.HostOf(shape.discriminator, 0)
          ? shape.links.socket
          : shape.links.network;
  const int64_t batch = schedule.generator_batch;
  times.latency = line.latency;
  times.images_link = line.Occupied(batch * shape.image_bytes);
  times.feedback_link = line.Occupied(
      schedule.AnswersImages() ? batch * shape.feedback_bytes
                               : shape.discriminator.network_bytes());
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

}  // namespace gandem
