// SPDX-License-Identifier: Apache-2.0
//
// What schedule.feedback FUSED (design.md section 4) makes of a config: the
// order of a discriminator step, and how many backward passes the generated
// images take.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "proto/config.pb.h"

namespace gandem {

// Does a discriminator step begin with its real images? In FUSED generated ones
// do, unless their loss needs the real ones.
bool RealImagesFirst(const RunConfig& config);

// What of the config makes one backward pass inexact, as a field with its
// value; empty: nothing does. What a network in Python does only its worker
// knows (models/foreign_network.h).
std::string WhyTwoPasses(const RunConfig& config);

// schedule.fused_backward; in FUSED AUTO becomes what it means, which is two
// for a network in Python.
ScheduleConfig::FusedBackward FusedBackwardOf(const RunConfig& config);

}  // namespace gandem
