// SPDX-License-Identifier: Apache-2.0
//
// Decides how far the pipeline reads ahead: the number of concurrent fetches,
// of threads that decode, and of samples that wait. Pure arithmetic on what was
// measured in the last interval; prefetcher.h carries the decisions out.
//
// The controller minimizes the time that the trainer loses, either by waiting
// for images or to threads that decode on cores that it needs. It does not try
// to fill memory. The content of a sample never depends on it.
//
// Owner: the prefetcher. Thread safety: none; its owner's lock.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gandem {

// The limits of a run, which never change.
struct PipelineLimits {
  int64_t memory_bytes = 0;  // > 0: for all samples that wait, in any state
  int max_fetches = 64;
  int max_workers = 1;       // cores that the trainer leaves free, at least 1
  int64_t least_ahead = 1;   // samples: the batches to be ahead at least
  int64_t sample_bytes = 1;  // size of a decoded sample
};

struct FetchSeen {
  double seconds = 0;  // duration of the fetch
  int64_t bytes = 0;
  bool at_hand = false;  // an earlier fetch had brought its piece of a file
};

// Measurements of the interval that ended now.
struct PipelineSeen {
  double seconds = 0;                   // length of the interval, > 0
  int64_t consumed = 0;                 // samples that the trainer took
  double stalled_seconds = 0;           // waiting time of the trainer
  std::vector<FetchSeen> fetches = {};  // fetches that ended in the interval
  int64_t fetching = 0;                 // fetches under way at its end
  int64_t finished = 0;     // samples that were decoded in the interval
  double work_seconds = 0;  // processor time that decoding them took
  int64_t waiting = 0;      // samples, fetched or finished, at its end
};

struct PipelineSetting {
  int fetches = 1;    // at once
  int workers = 1;    // threads that decode
  int64_t ahead = 1;  // samples between the last that was taken and the last
                      // that is fetched
  // The next samples, of these, that may be decoded; those behind them stay as
  // they are stored where that is smaller.
  int64_t finished_ahead = 1;

  friend bool operator==(const PipelineSetting&,
                         const PipelineSetting&) = default;
};

// docs/prefetch.md explains the rules and names their sources: Little's law for
// fetches (Little 1961), utilization for workers, Lindley's recursion (Lindley
// 1952) for how far ahead.
class PipelineController {
 public:
  explicit PipelineController(const PipelineLimits& limits);

  // Call about ten times a second with what was measured since the last call.
  PipelineSetting Update(const PipelineSeen& seen);

  const PipelineSetting& setting() const { return setting_; }
  // The reasons for the setting in one line, for timelines.
  std::string WhyText() const;
  // The warning that the longest gap of the source is longer than
  // data.memory_bytes can bridge. Not empty once.
  std::string TakeWarning() { return std::exchange(warning_, ""); }

 private:
  // Sums over recent reads. A sample that was at hand took almost no time, so a
  // mean per sample differs from one per read.
  struct ReadTimes {
    double samples = 0;
    double bytes = 0;  // bytes of these samples
    double reads = 0;
    double seconds = 0;
    double squares = 0;  // sum of the squared seconds

    void Fade(double kept);
    void Add(double read_seconds);
    double PerSample() const { return samples > 0 ? seconds / samples : 0; }
    double PerRead() const { return reads > 0 ? seconds / reads : 0; }
    // Mean duration of a read that is under way at a random moment: long reads
    // are met more often.
    double UnderWay() const { return seconds > 0 ? squares / seconds : 0; }
  };

  // A number that rises at once and falls slowly, after it was too large for a
  // while.
  class Follower {
   public:
    int64_t Follow(int64_t now, double wanted, double interval_seconds);

   private:
    double less_for_ = 0;  // seconds for which less was wanted
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

  // Samples a second that the trainer would take if it never waited; 0: not
  // known yet.
  double demand_ = 0;
  double open_samples_ = 0;  // samples of the newest batch
  double open_seconds_ = 0;  // computing time on it so far
  double taken_ = 0;         // faded sums of both over earlier batches
  double computed_ = 0;

  ReadTimes recent_;
  ReadTimes usual_;             // over minutes
  double read_rate_ = 0;        // reads that end, a second
  bool shares_pieces_ = false;  // one read brings many samples

  double shortfall_ = 0;    // samples that came too late, not made up for yet
  double unwanted_ = 0;     // samples fewer to be ahead since, so not too late
  double gap_ = 0;          // seconds to be ready for; fades
  double longest_gap_ = 0;  // seconds, of all that were seen

  double work_ = 0;    // processor seconds, and
  double worked_ = 0;  // the samples that they decoded; both fade
  bool warned_ = false;
  std::string warning_;
};

}  // namespace gandem
