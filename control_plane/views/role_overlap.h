// SPDX-License-Identifier: Apache-2.0
//
// Measures whether the roles of an asynchronous run work at the same time. Let
// g and d be the shares of a round in which each role does not wait for the
// other. Both work in a share of g + d - 1, and min(g, d) would be the largest
// possible one.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/round_times.h"

namespace gandem {

// The overlap, in [0, 1]. It is 1 if one role has almost nothing to do.
double RoleOverlap(const RoundTimes& generator,
                   const RoundTimes& discriminator);

// One line that says which role waits for what, if a run with this lag is
// serial in fact; otherwise empty. Times are sums over rounds.
std::string SerialWarning(int64_t lag, const RoundTimes& generator,
                          const RoundTimes& discriminator);

// The average round of a role, over all its workers.
struct RoleLoad {
  int workers = 0;
  double round_seconds = 0;
  double own_seconds = 0;   // part without waits for the other role
  double sync_seconds = 0;  // part for communication of its fleet
};
// `times`: sums over `rounds` of all workers.
RoleLoad LoadOf(int workers, double rounds, const RoundTimes& times);

// One sentence that names the role that holds the other one up, and the largest
// possible gain from another worker of it, if that had its own cores and the
// fleet's work were divided evenly. Empty: not known, or both are one process.
std::string LimitText(const RoleLoad& generator, const RoleLoad& discriminator);

}  // namespace gandem
