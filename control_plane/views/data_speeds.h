// SPDX-License-Identifier: Apache-2.0
//
// How the discriminators' real images come, from their records of the last
// rounds: how long they wait for them and for which stage of reading, and what
// reading ahead does.
//
// Owner: whoever hears the records. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "common/round_times.h"
#include "proto/control.pb.h"
#include "proto/metrics.pb.h"

namespace gandem {

// A share of waiting for data that people are told of.
inline constexpr double kShownDataWait = 0.05;

class DataSpeeds {
 public:
  // In the order of each worker's rounds.
  void Add(const RoundMetrics& metrics);

  // Sets status.data, if a discriminator has told of it.
  void Complete(StatusReply& status) const;

 private:
  // Sums in which the last dozen of rounds count most; retries are all.
  struct Recent {
    RoundTimes times = {};
    double seconds = 0;
    double images = 0;
    double stored_bytes = 0;
    int64_t retries = 0;
    DataMetrics newest = {};
  };

  int64_t run_epoch_ = 0;
  std::map<int, Recent> workers_;  // by rank
};

// "waits for data 31%: fetch"
std::string DataWaitText(const DataStatus& data);

// What reading ahead does, a line below those of the workers; empty if that is
// not known.
std::string DataLine(const StatusReply& status);

}  // namespace gandem
