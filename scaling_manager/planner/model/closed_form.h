// SPDX-License-Identifier: Apache-2.0
//
// Duration of a round of one generator and one discriminator as a formula:
// EXACT, REUSED, one micro-batch each, no contention, no jitter. It is the
// largest mean of all cycles of the graph of waits (max-plus algebra: Baccelli,
// Cohen, Olsder and Quadrat 1992, "Synchronization and linearity", theorem
// 3.23). docs/cost_model.md section 6 lists the cycles. The simulation must
// agree.
// The formula is approximate for steps with several micro-batches: n parts that
// pass through several stages take all of the longest stage, and 1 / n of each
// other stage. It is also approximate for fleets: it uses rank 0's share of the
// work on the slowest host, the messages of a host with several ranks and, of
// the sums, the last part, or the part that half of the computing does not
// hide. It ignores waits within a fleet. That suffices to rank plans, and costs
// a small fraction of a simulation.
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
  double discriminator = 0;  // all steps
  double before_images = 0;  // part before it takes generated images
  double until_answer = 0;   // from there until FUSED has sent all answers
  // Between two rounds: the answers of IMAGE_GRADIENT, or the copy of a critic.
  double boundary = 0;
  // Times that images and feedback occupy the link; latency of each message.
  double images_link = 0;
  double feedback_link = 0;
  double latency = 0;
  // Time that the sums of both fleets occupy the link of a host with both.
  double sums_link = 0;
  // Numbers of parts that overlap; 1: the whole at once.
  int64_t sent_parts = 1;    // sent while other images are made
  int64_t image_parts = 1;   // taken by the discriminator
  int64_t answer_parts = 1;  // taken while other answers are computed
};

PipelineTimes PipelineTimesOf(const RunShape& shape);
double PipelineRoundSeconds(const Schedule& schedule,
                            const PipelineTimes& times);

// Returns the seconds of a round of any shape, including a colocated worker.
double RoughRoundSeconds(const RunShape& shape);

}  // namespace gandem
