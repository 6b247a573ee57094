// SPDX-License-Identifier: Apache-2.0
//
// Computes facts about a run from the records of its last rounds: the images
// per second and the synchronization of each fleet, the stragglers, the role
// that limits the run, and the supply of real images.
//
// Owner: the object that receives the records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/round_times.h"
#include "control_plane/views/role_limit.h"
#include "proto/control.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// Smallest reported share of waiting for data.
inline constexpr double kShownDataWait = 0.05;

class RecentSpeeds {
 public:
  // Adds a record; each worker's records must be in order. A new run epoch
  // drops all earlier records, because it may have other workers.
  void Add(const RoundMetrics& metrics);

  // Sets the known ones of fleets, limit and data. Fleets are set only if a
  // role has several workers; the progress shows single workers.
  void Complete(StatusReply& status) const;

 private:
  // Weighted sums, dominated by the last dozen rounds.
  struct Recent {
    double rounds = 0;
    RoundTimes times = {};
    double compute_seconds = 0;
    double images = 0;
    double data_seconds = 0;
    double data_images = 0;
    double stored_bytes = 0;
    int64_t retries = 0;  // not weighted
    RoundMetrics newest = {};
  };
  // Returns the role's workers that have not left, by rank.
  std::map<int, Recent> WorkersOf(Role role) const;
  FleetStatus Fleet(Role role) const;
  RoleLoad Load(Role role) const;
  void CompleteData(StatusReply& status) const;

  int64_t run_epoch_ = 0;
  std::map<std::pair<Role, int>, Recent> workers_;  // by rank
};

// Example: "waits for data 31%: fetch".
std::string DataWaitText(const DataStatus& data);

// Returns the line about data loading for `gandem status`, or "" if unknown.
std::string DataLine(const StatusReply& status);

}  // namespace gandem
