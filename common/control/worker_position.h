// SPDX-License-Identifier: Apache-2.0
//
// Describes a worker's activity in words and checks received positions.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/faults.h"
#include "proto/control.pb.h"

namespace gandem {

// Shorter waits are not shown to people.
inline constexpr int kLongWaitSeconds = 5;

// Returns for example "waits for feedback of discriminator 1" or "computes".
std::string ActivityText(const WorkerPosition& position);

// Returns for example "waits for feedback of discriminator 1 since 58 s".
std::string PositionText(const WorkerPosition& position);

// Checks a position from the network; the run has `rounds` rounds.
void CheckPosition(const WorkerPosition& position, int64_t rounds,
                   Faults& faults);

}  // namespace gandem
