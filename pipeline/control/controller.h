// SPDX-License-Identifier: Apache-2.0
//
// How much of a machine reading ahead takes: fetches at once, threads that
// decode, samples that wait. Pure arithmetic on what was seen in the last
// interval; prefetcher.h does what it says, `gandem simulate pipeline` plays it
// against recorded traces.
//
// What it keeps small is the time that the trainer loses: by waiting for
// images, and by threads that decode on cores that it needs. Memory that waits
// full is no aim of its own. What a sample becomes never depends on it.
//
// Owner: the prefetcher, or the simulator.
// Thread safety: none; one thread.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/control/demand_meter.h"
#include "pipeline/control/fetch_ramp.h"
#include "pipeline/control/service_times.h"

namespace gandem {

// What does not change in a run.
struct PipelineLimits {
  int64_t memory_bytes = 0;  // > 0: of all samples that wait, in any state
  int max_fetches = 64;
  int max_workers = 1;       // cores that the trainer leaves free, at least 1
  int64_t least_ahead = 1;   // samples: a batch of this rank
  int64_t sample_bytes = 1;  // of a finished sample
  // Whoever follows the setting decodes no sample beyond finished_ahead.
  bool decodes_late = false;
};

struct FetchSeen {
  double seconds = 0;  // from its start to its end
  int64_t bytes = 0;
  bool at_hand = false;  // an earlier one had brought its piece of a file
};

// What was seen in the interval that ended now.
struct PipelineSeen {
  double seconds = 0;                   // length of the interval, > 0
  int64_t consumed = 0;                 // samples that the trainer took
  double stalled_seconds = 0;           // in which the trainer waited for them
  std::vector<FetchSeen> fetches = {};  // that ended in it
  int64_t fetching = 0;                 // at its end
  // Of what brought pieces for samples that are fetched later, and ended in it.
  std::vector<double> look_seconds = {};
  int64_t put_off = 0;         // samples that what is fetched now brings, too
  double longest_silence = 0;  // without the end of a fetch, while some
                               // were under way; may have begun before
  int64_t finished = 0;        // samples that were decoded in it
  double work_seconds = 0;     // of processor time, for these
  int64_t waiting = 0;         // samples, fetched or finished, at its end
  int64_t waiting_bytes = 0;
};

struct PipelineSetting {
  int fetches = 1;    // at once
  int workers = 1;    // threads that decode
  int64_t ahead = 1;  // samples between the last that was taken and the last
                      // that is fetched
  // Of these, the next ones that may be decoded; those behind them stay as they
  // are stored where that is smaller.
  int64_t finished_ahead = 1;

  friend bool operator==(const PipelineSetting&,
                         const PipelineSetting&) = default;
};

// docs/prefetch.md has the rules, each with its source: Little's law for
// fetches (Little 1961), utilization for workers, Lindley's recursion (Lindley
// 1952) for how far ahead.
class PipelineController {
 public:
  explicit PipelineController(const PipelineLimits& limits);

  // To be called some ten times a second with what was seen since the last
  // call.
  PipelineSetting Update(const PipelineSeen& seen);

  const PipelineSetting& setting() const { return setting_; }
  // Why the setting is as it is, in one line: for the trace and the log.
  std::string WhyText() const;
  // Not empty once, when the longest gap of the source that was seen is longer
  // than data.memory_bytes can bridge.
  std::string TakeWarning() { return std::exchange(warning_, ""); }

 private:
  void SeeFetches(const PipelineSeen& seen);
  // What a share of `part` of the fetches takes less than, and those of blocks
  // that bring many samples as a rule.
  double SlowSeconds(double part) const;
  void SeeReads(const PipelineSeen& seen);
  void SetInFlight();
  void SeeGaps(const PipelineSeen& seen);
  double SamplesInMemory() const;
  int64_t AheadWanted() const;
  double RateWanted(const PipelineSeen& seen) const;
  bool DecodesLate() const;
  int64_t FinishedWanted() const;
  void SetAhead(double seconds);
  void SetFinishedAhead();
  void SetFetches(const PipelineSeen& seen, double rate);
  void SetWorkers(double seconds, double rate);
  void WarnOfMemory();

  const PipelineLimits limits_;
  PipelineSetting setting_;
  DemandMeter demand_;
  ServiceTimes service_;
  ServiceTimes reads_;       // of fetches that brought something, for minutes
  double reads_ended_ = 0;   // of these, and the
  double read_seconds_ = 0;  // seconds that they ended in; both faded
  double in_flight_ = std::numeric_limits<double>::infinity();  // at most
  FetchRamp ramp_;

  bool silent_ = false;       // the source, now
  double silence_ = 0;        // the newest one, in seconds
  double after_silence_ = 0;  // seconds since its end
  double mean_bytes_ = 0;     // of a sample as it is stored
  double stored_bytes_ = 0;   // to reckon with; fades
  double shortfall_ = 0;      // samples that came too late since the last time
                              // that all was well
  double unwanted_ = 0;       // samples fewer than there are to be ahead
  double gap_seconds_ = 0;    // the longest gap to be ready for, faded
  double longest_gap_ = 0;    // that was seen
  double gap_now_ = 0;
  bool is_remote_ = false;
  bool shares_pieces_ = false;  // many samples are brought by one fetch
  double work_ = 0;             // processor seconds, and
  double worked_ = 0;           // samples that they were for; both faded
  double fetched_rate_ = 0;     // samples a second
  double less_ahead_for_ = 0;   // seconds in which less was wanted
  double less_workers_for_ = 0;
  bool warned_ = false;
  std::string warning_;
};

}  // namespace gandem
