// SPDX-License-Identifier: Apache-2.0
//
// How long a round of one generator and one discriminator takes, as a formula:
// EXACT, REUSED, one micro-batch each, processes that do not disturb each
// other, nothing that varies. It is the largest mean of all cycles of the
// graph of who waits for whom (max-plus algebra: Baccelli, Cohen, Olsder and
// Quadrat 1992, "Synchronization and linearity", theorem 3.23), which are
// written out in docs/cost_model.md section 6. The simulation has to agree.
//
// Of steps that are cut it is rough: n parts that go through several stages
// take all of the longest one, and 1 / n of each other. Of fleets it is rough,
// too: rank 0's part of the work on the slowest host, what a host with several
// ranks sends, and of sums the last part, or what half of the computing does
// not hide; who of a fleet waits for whom it does not know. That serves to put
// plans in an order, at a small part of what it takes to simulate them.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "exchange/schedule.h"
#include "scaling_manager/planner/model/run_shape.h"

namespace gandem {

// Seconds of a round's parts.
struct PipelineTimes {
  double generator = 0;
  // Of the generator's work what makes images.
  double forward = 0;
  // The discriminator's steps; of them what comes before it takes generated
  // images, and from there until the last answer of FUSED leaves.
  double discriminator = 0;
  double before_images = 0;
  double until_answer = 0;
  // Between two rounds: the answers of IMAGE_GRADIENT, or the copy of a critic.
  double boundary = 0;
  // On the way: how long images, and what comes back, keep the link, and the
  // latency of each.
  double images_link = 0;
  double feedback_link = 0;
  double latency = 0;
  // How long the sums of both fleets keep the link of a host of both.
  double sums_link = 0;
  // In so many parts images leave while others are made, the discriminator
  // takes them, and the generator takes answers while others are computed. 1:
  // all at once.
  int64_t sent_parts = 1;
  int64_t image_parts = 1;
  int64_t answer_parts = 1;
};

PipelineTimes PipelineTimesOf(const RunShape& shape);
double PipelineRoundSeconds(const Schedule& schedule,
                            const PipelineTimes& times);

// Of any shape, one worker of both roles included.
double RoughRoundSeconds(const RunShape& shape);

}  // namespace gandem
