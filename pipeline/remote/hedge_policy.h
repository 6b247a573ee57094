// SPDX-License-Identifier: Apache-2.0
//
// When a second request is made for what a first one has not brought: after a
// time that 99 of 100 requests take less than (Dean and Barroso 2013, "The Tail
// at Scale", hedged requests), as long as second requests cost at most 5 % of
// the bytes that were asked for. Pure arithmetic.
//
// Owner: the one who makes requests of about equal size.
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace gandem {

inline constexpr double kHedgeQuantile = 0.99;
inline constexpr double kMostHedgedBytes = 0.05;
// Requests that are remembered, and how many of them tell a percentile.
inline constexpr size_t kHedgeMemory = 512;
inline constexpr size_t kFewestForHedge = 100;

class HedgePolicy {
 public:
  // A request of `bytes` is made.
  void AddRequest(int64_t bytes) { requested_bytes_ += bytes; }

  // A request was answered `taken` after its start.
  void AddServiceTime(absl::Duration taken);

  // After how long a second request is due; left out: too little is known.
  std::optional<absl::Duration> Delay() const;

  // Whether a second request of `bytes` fits; if so it counts.
  bool Take(int64_t bytes);

 private:
  std::vector<absl::Duration> times_;  // the last ones, a ring
  size_t next_ = 0;                    // in times_, once it is full
  int64_t requested_bytes_ = 0;
  int64_t hedged_bytes_ = 0;
};

}  // namespace gandem
