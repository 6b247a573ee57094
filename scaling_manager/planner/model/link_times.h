// SPDX-License-Identifier: Apache-2.0
//
// Times to move bytes between the two roles, and to sum them among the workers
// of one role (docs/cost_model.md sections 3 and 4).
// Owner: values; copy freely. Thread safety: pure functions.
// Errors: INVALID_ARGUMENT names data that the profile or the machines lack.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"
#include "proto/profile.pb.h"

namespace gandem {

// Transfer time as a line: n bytes take latency + n / bytes_per_second.
struct LinkLine {
  double latency = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
  // Processor seconds of both ends together.
  double compute_seconds_per_byte = 0;

  double Occupied(int64_t bytes) const {
    return static_cast<double>(bytes) / bytes_per_second;
  }
};

struct LinkTimes {
  LinkLine memory = {};       // within a process
  LinkLine socket = {};       // between two processes of a host
  LinkLine network = {};      // between two hosts
  LinkLine sum_memory = {};   // an all-reduce of two ranks of a host
  LinkLine sum_network = {};  // an all-reduce of two hosts

  // Returns the seconds of an all-reduce over hosts with `ranks_by_host` ranks
  // each: a ring within each host, a ring between the hosts, and a broadcast
  // within each host. `crowding` >= 1 is the number of ranks per core.
  double AllReduceSeconds(int64_t bytes, const std::vector<int>& ranks_by_host,
                          double crowding) const;
  // Returns the seconds to send from one rank to all other ranks.
  double BroadcastSeconds(int64_t bytes,
                          const std::vector<int>& ranks_by_host) const;
};

struct LinksUsed {
  bool socket = false;
  bool network = false;
  bool sum_memory = false;
  bool sum_network = false;
};

absl::StatusOr<LinkTimes> LinkTimesOf(const Profile& profile,
                                      const Machines& machines,
                                      const LinksUsed& used);

// Returns the seconds of a ring all-reduce (Patarasuk and Yuan 2009, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", section 3): 2 (n
// - 1) hops, each rank sends 2 (n - 1) / n of the bytes. Short segments follow
// Bruck et al. 1997: 2 ceil(log2(n)) hops, about log2(n) / 2 + 1 of the bytes.
// `pair`: line of two ranks.
double RingSeconds(const LinkLine& pair, int64_t bytes, int ranks);

}  // namespace gandem
