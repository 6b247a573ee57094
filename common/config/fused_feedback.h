// SPDX-License-Identifier: Apache-2.0
//
// Consequences of schedule.feedback FUSED (design.md section 4): the order of a
// discriminator step, and the number of backward passes on generated images.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "proto/config.pb.h"

namespace gandem {

// Does a discriminator step begin with its real images? In FUSED generated ones
// do, unless their loss needs the real ones.
bool RealImagesFirst(const RunConfig& config);

// Field and value of the config that make one backward pass inexact; empty:
// none. Only a worker knows this for a network in Python
// (models/foreign_network.h).
std::string WhyTwoPasses(const RunConfig& config);

// schedule.fused_backward; in FUSED AUTO becomes what it means, which is two
// for a network in Python.
ScheduleConfig::FusedBackward FusedBackwardOf(const RunConfig& config);

}  // namespace gandem
