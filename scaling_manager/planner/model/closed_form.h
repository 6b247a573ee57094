// SPDX-License-Identifier: Apache-2.0
//
// Duration of a round of one generator and one discriminator, as a formula:
// EXACT, REUSED, one micro-batch each, no contention, no jitter. It is the
// largest mean of all cycles of the graph of waits (max-plus algebra: Baccelli,
// Cohen, Olsder and Quadrat 1992, "Synchronization and linearity", theorem
// 3.23). docs/cost_model.md section 6 lists the cycles. The simulation has to
// agree.
// For steps with several micro-batches the formula is approximate: n parts that
// pass through several stages take all of the longest stage, and 1 / n of each
// other. It is also approximate for fleets: it uses rank 0's part of the work
// on the slowest host, the messages of a host with several ranks and, of the
// sums, the last part, or the part that half of the computing does not hide. It
// ignores waits within a fleet. That suffices to rank plans, at a small
// fraction of the cost of simulating them.
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "exchange/schedule.h"
#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

// Seconds of the parts of a round.
struct PipelineTimes {
  double generator = 0;
  // Part of the generator's time that makes images.
  double forward = 0;
  // The discriminator's steps; the part before it takes generated images; and
  // the part from there until the last answer of FUSED is sent.
  double discriminator = 0;
  double before_images = 0;
  double until_answer = 0;
  // Between two rounds: the answers of IMAGE_GRADIENT, or the copy of a critic.
  double boundary = 0;
  // Time for which images and feedback occupy the link, and the latency of each
  // message.
  double images_link = 0;
  double feedback_link = 0;
  double latency = 0;
  // Time for which the sums of both fleets occupy the link of a host with both.
  double sums_link = 0;
  // Numbers of parts, 1 for the whole: in which images are sent while others
  // are made, in which the discriminator takes them, and in which the generator
  // takes answers while others are computed.
  int64_t sent_parts = 1;
  int64_t image_parts = 1;
  int64_t answer_parts = 1;
};

PipelineTimes PipelineTimesOf(const RunShape& shape);
double PipelineRoundSeconds(const Schedule& schedule,
                            const PipelineTimes& times);

// Seconds of a round of any shape, including a colocated worker.
double RoughRoundSeconds(const RunShape& shape);

}  // namespace gandem
