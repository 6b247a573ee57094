// SPDX-License-Identifier: Apache-2.0
//
// Whether the roles of an asynchronous run work at the same time. With g and d
// the parts of a round in which either does not wait for the other one, both
// work in g + d - 1 of it, of min(g, d) that could be.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "common/round_times.h"

namespace gandem {

// In [0, 1]; 1 where one of the roles has next to nothing to do.
double RoleOverlap(const RoundTimes& generator,
                   const RoundTimes& discriminator);

// One line where a run with this lag is serial in fact, which says who waits
// for what; else empty. Times are sums over rounds.
std::string SerialWarning(int64_t lag, const RoundTimes& generator,
                          const RoundTimes& discriminator);

// A role in its average round, all its workers alike.
struct RoleLoad {
  int workers = 0;
  double round_seconds = 0;
  double own_seconds = 0;   // of these: it does not wait for the other role
  double sync_seconds = 0;  // of these: communication of its fleet
};
// `times`: sums over `rounds` of all workers.
RoleLoad LoadOf(int workers, double rounds, const RoundTimes& times);

// One sentence: which role holds the other one up, and the most that another
// worker of it would gain if it had cores of its own and its fleet's work were
// divided evenly. Empty: not known, or both are one process.
std::string LimitText(const RoleLoad& generator, const RoleLoad& discriminator);

}  // namespace gandem
