// SPDX-License-Identifier: Apache-2.0
//
// Describes a worker's current activity in words, and checks reported
// positions.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/faults.h"
#include "proto/control.pb.h"

namespace gandem {

// A wait that lasts so long is shown to people.
inline constexpr int kLongWaitSeconds = 5;

// "waits for feedback of discriminator 1", "computes"
std::string ActivityText(const WorkerPosition& position);

// "waits for feedback of discriminator 1 since 58 s"
std::string PositionText(const WorkerPosition& position);

// It came over a network, of a run of `rounds` rounds.
void CheckPosition(const WorkerPosition& position, int64_t rounds,
                   Faults& faults);

}  // namespace gandem
