// SPDX-License-Identifier: Apache-2.0
//
// Measures whether the roles of an asynchronous run work at the same time. Let
// g and d be the shares of a round in which the generator and the discriminator
// do not wait for each other. Both work in a share of g + d - 1; the largest
// possible share is min(g, d).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/round_times.h"

namespace gandem {

// Returns the overlap, in [0, 1]. It is 1 if one role has almost nothing to do.
double RoleOverlap(const RoundTimes& generator,
                   const RoundTimes& discriminator);

// Returns one line that says which role waits for what if an asynchronous run
// is effectively serial, otherwise "". Times are sums over rounds.
std::string SerialWarning(int64_t lag, const RoundTimes& generator,
                          const RoundTimes& discriminator);

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
