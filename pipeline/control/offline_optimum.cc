// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/offline_optimum.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "pipeline/control/link_of_fetches.h"
#include "pipeline/control/simulator.h"

namespace gandem {
namespace {

// Sends bytes one after the other over the whole link.
class FluidLink {
 public:
  explicit FluidLink(std::vector<LinkPart> parts) : parts_(std::move(parts)) {}

  // When `bytes` are there that may be sent from `from` on; after `end`: never.
  double Send(double from, double bytes, double end) {
    now_ = std::max(now_, from);
    while (now_ <= end) {
      while (place_ + 1 < parts_.size() && parts_[place_ + 1].at <= now_) {
        ++place_;
      }
      const double until =
          place_ + 1 < parts_.size() ? parts_[place_ + 1].at : end + 1;
      const double rate = parts_[place_].bytes_per_second;
      if (rate > 0 && now_ + bytes / rate <= until) {
        now_ += bytes / rate;
        return now_;
      }
      bytes -= rate * (until - now_);
      now_ = until;
    }
    return now_;
  }

 private:
  const std::vector<LinkPart> parts_;
  size_t place_ = 0;
  double now_ = 0;
};

// The first time from `at` on at which a batch is wanted; the end: none is.
double WantedFrom(const PipelineTrace& trace, double at) {
  if (BatchSecondsAt(trace, at) > 0) return at;
  for (const DemandPart& part : trace.demand) {
    if (part.at > at && part.batch_seconds > 0) return part.at;
  }
  return trace.seconds;
}

}  // namespace

double LeastStall(const PipelineTrace& trace, int64_t memory_bytes,
                  int max_workers, double begin) {
  const PipelineJob& job = trace.job;
  const auto workers = static_cast<size_t>(max_workers);
  FluidLink link(LinkOf(trace));
  std::vector<double> taken_at;  // of batches
  std::vector<double> held;      // bytes of samples, summed up
  std::vector<double> worker_free(workers);
  double wanted = WantedFrom(trace, begin);
  double stalled = 0;
  size_t released = 0;  // batches whose memory is free
  for (int64_t sample = 0; wanted < trace.seconds;) {
    double ready = 0;
    for (int64_t i = 0; i < job.batch; ++i, ++sample) {
      const auto stored = static_cast<double>(StoredBytesOf(job, sample));
      held.push_back((held.empty() ? 0 : held.back()) +
                     std::min(stored, static_cast<double>(job.sample_bytes)));
      // Memory is free once batches enough were taken.
      double room = 0;
      while (released < taken_at.size() &&
             held.back() -
                     (released > 0
                          ? held[released * static_cast<size_t>(job.batch) - 1]
                          : 0) >
                 static_cast<double>(memory_bytes)) {
        ++released;
      }
      if (released > 0) room = taken_at[released - 1];
      const double fetched = link.Send(room, stored, trace.seconds);
      double& free = worker_free[static_cast<size_t>(sample) % workers];
      free = std::max(free, fetched) + job.work_seconds;
      ready = std::max(ready, free);
    }
    const double taken = std::max(wanted, ready);
    if (!taken_at.empty()) stalled += std::min(taken, trace.seconds) - wanted;
    taken_at.push_back(taken);
    const double seconds = BatchSecondsAt(trace, taken);
    wanted = WantedFrom(trace, taken + seconds);
  }
  return stalled;
}

}  // namespace gandem
