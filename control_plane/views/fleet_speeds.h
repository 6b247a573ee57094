// SPDX-License-Identifier: Apache-2.0
//
// How the workers of each role get on with each other, from their records of
// the last rounds: what a fleet trains on in a second, the share of its time
// that it waits for its own sums, and who is slower than the others. And which
// of the two fleets limits the run.
//
// Owner: whoever hears the records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/round_times.h"
#include "control_plane/views/role_overlap.h"
#include "proto/control.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

class FleetSpeeds {
 public:
  // In the order of each worker's rounds.
  void Add(const RoundMetrics& metrics);

  // One of each role, or none if no role has several workers.
  std::vector<FleetStatus> Fleets() const;
  // See LimitText().
  std::string Limit() const;

 private:
  // Sums in which the last dozen of rounds count most.
  struct Recent {
    double rounds = 0;
    RoundTimes times = {};
    double compute_seconds = 0;
    double images = 0;
    double unix_seconds = 0;  // of the newest
    int64_t lag = 0;          // of the newest
  };
  // Those of the role that have not left.
  std::map<int, Recent> WorkersOf(Role role) const;
  FleetStatus Fleet(Role role) const;
  RoleLoad Load(Role role) const;

  int64_t run_epoch_ = 0;
  std::map<std::pair<Role, int>, Recent> workers_;  // by rank
};

}  // namespace gandem
