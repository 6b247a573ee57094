// SPDX-License-Identifier: Apache-2.0
//
// Facts about a run from the records of its last rounds: the images per second
// of each fleet, the share of its time that it waits for its own sums, the
// workers that are slower than the others, the role that limits the run, and
// the supply of real images to the discriminators.
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

// Smallest share of waiting for data that is reported.
inline constexpr double kShownDataWait = 0.05;

class RecentSpeeds {
 public:
  // Adds a record, in the order of each worker's rounds. A new run epoch drops
  // all earlier records, because it may have other workers.
  void Add(const RoundMetrics& metrics);

  // Sets fleets, limit and data, as far as they are known. Fleets are set only
  // if a role has several workers: the progress has the figures of single ones.
  void Complete(StatusReply& status) const;

 private:
  // Weighted sums in which the last dozen rounds count most.
  struct Recent {
    double rounds = 0;
    RoundTimes times = {};
    double compute_seconds = 0;
    double images = 0;
    double data_seconds = 0;
    double data_images = 0;
    double stored_bytes = 0;
    int64_t retries = 0;  // all
    RoundMetrics newest = {};
  };
  // Workers of the role that have not left, by rank.
  std::map<int, Recent> WorkersOf(Role role) const;
  FleetStatus Fleet(Role role) const;
  RoleLoad Load(Role role) const;
  void CompleteData(StatusReply& status) const;

  int64_t run_epoch_ = 0;
  std::map<std::pair<Role, int>, Recent> workers_;  // by rank
};

// "waits for data 31%: fetch"
std::string DataWaitText(const DataStatus& data);

// The line about reading ahead, which is shown below those of the workers.
// Empty: not known.
std::string DataLine(const StatusReply& status);

}  // namespace gandem
