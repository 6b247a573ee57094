// SPDX-License-Identifier: Apache-2.0
//
// Decides how far the pipeline reads ahead: the number of concurrent fetches,
// decoding threads and buffered samples. Pure arithmetic on measurements of the
// last interval; prefetcher.h applies the decisions.
//
// Minimizes the time that the trainer loses, either by waiting for images or by
// sharing its cores with decoding threads. Samples do not depend on it.
//
// Owner: the prefetcher. Thread safety: none; guarded by the owner's lock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gandem {

struct PipelineLimits {
  int64_t memory_bytes = 0;  // > 0: memory for all buffered samples
  int max_fetches = 64;
  int max_workers = 1;       // cores that the trainer leaves free, at least 1
  int64_t least_ahead = 1;   // minimum read-ahead, in samples
  int64_t sample_bytes = 1;  // size of a decoded sample
};

struct FetchSeen {
  double seconds = 0;  // duration of the fetch
  int64_t bytes = 0;
  bool at_hand = false;  // its piece of the file was cached already
};

// Measurements of the last interval.
struct PipelineSeen {
  double seconds = 0;                   // length of the interval, > 0
  int64_t consumed = 0;                 // samples taken by the trainer
  double stalled_seconds = 0;           // waiting time of the trainer
  std::vector<FetchSeen> fetches = {};  // fetches that ended
  int64_t fetching = 0;                 // running fetches at the interval's end
  int64_t finished = 0;                 // samples decoded in the interval
  double work_seconds = 0;              // processor time spent on decoding
  int64_t waiting = 0;  // buffered samples at the interval's end
};

struct PipelineSetting {
  int fetches = 1;    // concurrent fetches
  int workers = 1;    // decoding threads
  int64_t ahead = 1;  // from the last taken to the last fetched sample
  // Number of upcoming samples to decode; later ones wait in the smaller form.
  int64_t finished_ahead = 1;

  friend bool operator==(const PipelineSetting&,
                         const PipelineSetting&) = default;
};

// Uses Little's law (1961) for fetches, utilization for workers, Lindley's
// recursion (1952) for the read-ahead (docs/prefetch.md).
class PipelineController {
 public:
  explicit PipelineController(const PipelineLimits& limits);

  // Must be called about ten times a second.
  PipelineSetting Update(const PipelineSeen& seen);

  const PipelineSetting& setting() const { return setting_; }
  // Explains the setting in one line, for timelines.
  std::string WhyText() const;
  // Returns the warning, once, that data.memory_bytes is too small to bridge
  // the longest gap of the source; otherwise "".
  std::string TakeWarning() { return std::exchange(warning_, ""); }

 private:
  // Sums over recent reads. One read can bring several samples, so means per
  // sample and per read differ.
  struct ReadTimes {
    double samples = 0;
    double bytes = 0;
    double reads = 0;
    double seconds = 0;
    double squares = 0;  // sum of the squared seconds

    void Fade(double kept);
    void Add(double read_seconds);
    double PerSample() const { return samples > 0 ? seconds / samples : 0; }
    double PerRead() const { return reads > 0 ? seconds / reads : 0; }
    // Returns the expected duration of the read that is running at a random
    // moment. Long reads are more likely to be running.
    double UnderWay() const { return seconds > 0 ? squares / seconds : 0; }
  };

  // A number that rises at once and falls after being too large for a while.
  class Follower {
   public:
    int64_t Follow(int64_t now, double wanted, double interval_seconds);

   private:
    double less_for_ = 0;  // seconds for which a smaller value sufficed
  };

  void SeeDemand(const PipelineSeen& seen);
  void SeeReads(const PipelineSeen& seen);
  void SeeGap(const PipelineSeen& seen);
  double StoredBytes() const;
  double FinishedWanted() const;
  double SamplesInMemory() const;
  void SetAhead(double seconds);
  void SetFetches(const PipelineSeen& seen);
  void SetWorkers(const PipelineSeen& seen);
  void WarnOfMemory();

  const PipelineLimits limits_;
  PipelineSetting setting_;
  Follower ahead_;
  Follower fetches_;
  Follower workers_;

  // Samples per second that a never waiting trainer takes; 0: not yet known.
  double demand_ = 0;
  double open_samples_ = 0;  // samples of the newest batch
  double open_seconds_ = 0;  // computing time spent on it so far
  double taken_ = 0;         // decayed sums of both over earlier batches
  double computed_ = 0;

  ReadTimes recent_;
  ReadTimes usual_;             // over minutes
  double read_rate_ = 0;        // completed reads per second
  bool shares_pieces_ = false;  // one read brings several samples

  double shortfall_ = 0;    // late samples that are not made up for yet
  double unwanted_ = 0;     // reduction of the read-ahead since; not late
  double gap_ = 0;          // seconds to be prepared for; decays
  double longest_gap_ = 0;  // seconds

  double work_ = 0;    // processor seconds; decays
  double worked_ = 0;  // samples decoded in work_; decays
  bool warned_ = false;
  std::string warning_;
};

}  // namespace gandem
