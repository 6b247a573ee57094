// SPDX-License-Identifier: Apache-2.0
//
// Plays a rule for reading ahead against a link, a decoder and a trainer: a
// simulation of discrete events, deterministic, whose draws are the same for
// every rule.
//
// - A fetch waits for its latency and then shares the link evenly with the
//   others (processor sharing); an outage stops it.
// - Decode threads take the sample that is needed first. Where they and the
//   trainer want more cores than there are, all get the same share.
// - The trainer takes batches in order, each as soon as all of it is decoded,
//   and then computes on it. What it loses is counted from its first batch on.
// - A sample counts with its stored bytes from the start of its fetch, with
//   those of the finished one from the start of its decoding; with both in
//   between.
//
// Owner: the caller. Thread safety: pure functions. Times are in seconds.
#pragma once

#include <cstdint>
#include <functional>

#include "pipeline/control/controller.h"
#include "pipeline/control/pipeline_trace.h"

namespace gandem {

// Gets what was seen in each tenth of a second, and says what holds next.
using PipelineRule = std::function<PipelineSetting(const PipelineSeen&)>;

struct SimulatedRun {
  double seconds = 0;          // since the first batch
  double stalled_seconds = 0;  // of them, in which the trainer waited
  double stolen_seconds = 0;   // by which it computed for longer than alone
  double average_bytes = 0;    // of all samples that wait
  double peak_bytes = 0;
  double first_batch_at = 0;
  int64_t samples = 0;  // that it took
  int64_t changes = 0;  // of the setting
  double fetches = 0;   // set, on average
  double workers = 0;

  // What the trainer lost, of its time.
  double LostShare() const {
    return seconds > 0 ? (stalled_seconds + stolen_seconds) / seconds : 0;
  }
};

// `first` holds for the first tenth of a second.
SimulatedRun Simulate(const PipelineTrace& trace, PipelineSetting first,
                      const PipelineRule& rule);

// With one setting for all of it.
SimulatedRun SimulateStatic(const PipelineTrace& trace,
                            PipelineSetting setting);

// The stored bytes of a sample: evenly between half and one and a half of
// job.stored_bytes.
int64_t StoredBytesOf(const PipelineJob& job, int64_t sample);

// The seconds of compute that a batch takes which is taken at `at`; 0: none is.
double BatchSecondsAt(const PipelineTrace& trace, double at);

}  // namespace gandem
