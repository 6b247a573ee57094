// SPDX-License-Identifier: Apache-2.0
//
// Plays a rule for reading ahead against a link, a decoder and a trainer, in
// steps of a millisecond:
//
// - A fetch waits for its latency and then shares the link evenly with the
//   others.
// - Threads decode the sample that is needed first. Where they and the trainer
//   want more cores than there are, all get the same share.
// - The trainer takes batches in order, each as soon as all of it is decoded,
//   and then computes on it.
// - A sample counts with its stored bytes until it is decoded.
//
// Thread safety: pure functions. Times are in seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pipeline/control/controller.h"

namespace gandem::testing {

// 100 Mbit/s and 20 ms, from `at` on.
struct LinkPart {
  double at = 0;
  double latency = 0.02;  // from the request to the first byte: evenly between
  double spread = 0.005;  // latency - spread and latency + spread
  double bytes_per_second = 12.5e6;  // of all connections; 0: an outage
};

// A trainer that takes 640 samples a second, from `at` on.
struct DemandPart {
  double at = 0;
  double batch_seconds = 0.1;  // of computing; 0: it takes no batch
};

struct SimulatedPipeline {
  int64_t batch = 64;
  int64_t sample_bytes = 49152;
  int64_t stored_bytes = 10000;  // mean of 0.5 to 1.5 times as many
  double work_seconds = 0.001;   // of a core, to decode a sample
  double cores = 4;
  double trainer_cores = 2;
  // Parts in the order of `at`; the first is at 0.
  std::vector<LinkPart> link = {LinkPart()};
  std::vector<DemandPart> demand = {DemandPart()};
  double seconds = 60;
};

struct SimulatedRun {
  double stalled_seconds = 0;  // in which the trainer waited
  double stolen_seconds = 0;   // by which it computed for longer than alone
  double peak_bytes = 0;       // of all samples that wait
  int64_t samples = 0;         // that the trainer took
};

// Gets what was seen in each tenth of a second, and says what holds next.
using PipelineRule = std::function<PipelineSetting(const PipelineSeen&)>;

// Counts what the trainer loses from its first batch on.
SimulatedRun Simulate(const SimulatedPipeline& pipeline, PipelineSetting first,
                      const PipelineRule& rule);

}  // namespace gandem::testing
