// SPDX-License-Identifier: Apache-2.0
//
// Names the role that limits a run, from the shares of a round in which each
// role does not wait for the other.
//
// Thread safety: pure functions.
#pragma once

#include <string>

#include "common/round_times.h"

namespace gandem {

// Average round of a role, over all its workers.
struct RoleLoad {
  int workers = 0;
  double round_seconds = 0;
  double own_seconds = 0;   // part without waits for the other role
  double sync_seconds = 0;  // part for communication of its fleet
};
// Computes the averages. `times`: sums over `rounds` of all workers.
RoleLoad LoadOf(int workers, double rounds, const RoundTimes& times);

// Names the role that delays the other role, and the largest possible gain from
// another worker of that role with its own cores. Returns "" if unknown.
std::string LimitText(const RoleLoad& generator, const RoleLoad& discriminator);

}  // namespace gandem
