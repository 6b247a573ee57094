// SPDX-License-Identifier: Apache-2.0
//
// Simulates a read-ahead policy with a link, a decoder and a trainer, in steps
// of
// a millisecond:
//
// - A fetch waits for its latency and then shares the link evenly with the
//   others.
// - Threads decode the sample that is needed first. If they and the trainer
//   need more cores than there are, all get the same share.
// - The trainer takes batches in order, as soon as each is decoded.
// - A sample counts with its stored bytes until it is decoded.
//
// Thread safety: pure functions. Times are in seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pipeline/control/controller.h"

namespace gandem::testing {

// Link properties from `at` on; the defaults are 100 Mbit/s and 20 ms.
struct LinkPart {
  double at = 0;
  double latency = 0.02;             // to the first byte: uniform from
  double spread = 0.005;             // latency - spread to latency + spread
  double bytes_per_second = 12.5e6;  // of all connections; 0: an outage
};

// Demand of the trainer from `at` on; the default is 640 samples per second.
struct DemandPart {
  double at = 0;
  double batch_seconds = 0.1;  // compute time; 0: takes no batch
};

struct SimulatedPipeline {
  int64_t batch = 64;
  int64_t sample_bytes = 49152;
  int64_t stored_bytes = 10000;  // mean; uniform from 0.5 to 1.5 times
  double work_seconds = 0.001;   // core time to decode a sample
  double cores = 4;
  double trainer_cores = 2;
  // Parts ordered by `at`; the first one starts at 0.
  std::vector<LinkPart> link = {LinkPart()};
  std::vector<DemandPart> demand = {DemandPart()};
  double seconds = 60;
};

struct SimulatedRun {
  double stalled_seconds = 0;  // time that the trainer waited
  double stolen_seconds = 0;   // additional compute time by contention
  double peak_bytes = 0;       // of all waiting samples
  int64_t samples = 0;         // taken by the trainer
};

// Returns the next setting from the measurements of the last 0.1 s.
using PipelineRule = std::function<PipelineSetting(const PipelineSeen&)>;

// Counts the trainer's losses from its first batch on.
SimulatedRun Simulate(const SimulatedPipeline& pipeline, PipelineSetting first,
                      const PipelineRule& rule);

}  // namespace gandem::testing
