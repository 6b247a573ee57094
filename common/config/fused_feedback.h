// SPDX-License-Identifier: Apache-2.0
//
// Consequences of schedule.feedback (design.md section 4): who judges, and with
// FUSED the order of a discriminator step and the number of backward passes on
// generated images.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "proto/config.pb.h"

namespace gandem {

// Returns whether the discriminator answers the generator's images; otherwise
// it sends critics.
inline bool AnswersImages(ScheduleConfig::FeedbackMode feedback) {
  return feedback != ScheduleConfig::SNAPSHOT;
}

// Returns whether a discriminator step starts with its real images. FUSED
// starts with generated images unless their loss needs the real ones.
bool RealImagesFirst(const RunConfig& config);

// Returns the config field and value that make a single backward pass inexact,
// or "". For a network in Python only a worker knows
// (models/foreign_network.h).
std::string WhyTwoPasses(const RunConfig& config);

// Returns schedule.fused_backward. Resolves AUTO if feedback is FUSED; a
// network in Python gets two passes.
ScheduleConfig::FusedBackward FusedBackwardOf(const RunConfig& config);

}  // namespace gandem
