// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/simulated_pipeline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace gandem::testing {
namespace {

constexpr double kStep = 1e-3;
constexpr int64_t kStepsPerTick = 100;

class Simulation {
 public:
  Simulation(const SimulatedPipeline& pipeline, const PipelineSetting& first)
      : pipeline_(pipeline), setting_(first) {}

  SimulatedRun Run(const PipelineRule& rule) {
    while (now_ < pipeline_.seconds) {
      StartFetches();
      Transfer();
      const double wanted = (fetched_.empty() ? 0 : setting_.workers) +
                            (compute_left_ > 0 ? pipeline_.trainer_cores : 0);
      const double share =
          std::min(1.0, pipeline_.cores / std::max(1.0, wanted));
      Decode(share * kStep);
      Train(share * kStep);
      now_ = static_cast<double>(++steps_) * kStep;
      if (steps_ % kStepsPerTick == 0) Tick(rule);
    }
    return run_;
  }

 private:
  struct Fetch {
    int64_t sample = 0;
    double began = 0;
    double latency_left = 0;
    double bytes_left = 0;
  };

  // Returns the part of a link or a trainer at the current time.
  template <typename Part>
  const Part& Now(const std::vector<Part>& parts) const {
    return *std::prev(
        std::ranges::upper_bound(parts, now_ + kStep / 2, {}, &Part::at));
  }

  // Multiples of an irrational number, modulo 1, are spread evenly.
  static double Draw(int64_t sample, double irrational) {
    return std::fmod(static_cast<double>(sample + 1) * irrational, 1);
  }

  double StoredBytes(int64_t sample) const {
    return static_cast<double>(pipeline_.stored_bytes) *
           (0.5 + Draw(sample, std::sqrt(2)));
  }

  void Hold(double bytes) {
    held_ += bytes;
    run_.peak_bytes = std::max(run_.peak_bytes, held_);
  }

  void StartFetches() {
    const LinkPart& link = Now(pipeline_.link);
    while (std::ssize(fetches_) < setting_.fetches &&
           next_ < taken_ + setting_.ahead) {
      fetches_.push_back(
          {.sample = next_,
           .began = now_,
           .latency_left =
               link.latency + link.spread * (2 * Draw(next_, std::sqrt(3)) - 1),
           .bytes_left = StoredBytes(next_)});
      Hold(StoredBytes(next_++));
    }
  }

  void Transfer() {
    const auto receiving = static_cast<double>(std::ranges::count_if(
        fetches_, [](const Fetch& fetch) { return fetch.latency_left <= 0; }));
    const double bytes =
        kStep * Now(pipeline_.link).bytes_per_second / std::max(1.0, receiving);
    std::erase_if(fetches_, [&](Fetch& fetch) {
      if (fetch.latency_left > 0) {
        fetch.latency_left -= kStep;
        return false;
      }
      fetch.bytes_left -= bytes;
      if (fetch.bytes_left > 0) return false;
      seen_.fetches.push_back(
          {.seconds = now_ + kStep - fetch.began,
           .bytes = static_cast<int64_t>(StoredBytes(fetch.sample))});
      fetched_.insert(fetch.sample);
      return true;
    });
  }

  void Decode(double seconds_per_worker) {
    double left = setting_.workers * seconds_per_worker;
    while (left > 0 && !fetched_.empty() &&
           *fetched_.begin() < taken_ + setting_.finished_ahead) {
      const double work = std::min(left, pipeline_.work_seconds - worked_);
      left -= work;
      worked_ += work;
      seen_.work_seconds += work;
      if (worked_ < pipeline_.work_seconds) continue;
      worked_ = 0;
      const int64_t sample = *fetched_.begin();
      fetched_.erase(fetched_.begin());
      decoded_.insert(sample);
      ++seen_.finished;
      Hold(static_cast<double>(pipeline_.sample_bytes) - StoredBytes(sample));
    }
  }

  void Train(double seconds) {
    if (compute_left_ > 0) {
      compute_left_ -= seconds;
      run_.stolen_seconds += kStep - seconds;
      return;
    }
    const double batch_seconds = Now(pipeline_.demand).batch_seconds;
    if (batch_seconds == 0) return;
    const auto end = decoded_.lower_bound(taken_ + pipeline_.batch);
    if (std::distance(decoded_.begin(), end) < pipeline_.batch) {
      seen_.stalled_seconds += kStep;
      if (run_.samples > 0) run_.stalled_seconds += kStep;
      return;
    }
    decoded_.erase(decoded_.begin(), end);
    Hold(-static_cast<double>(pipeline_.batch * pipeline_.sample_bytes));
    taken_ += pipeline_.batch;
    seen_.consumed += pipeline_.batch;
    run_.samples += pipeline_.batch;
    compute_left_ = batch_seconds - seconds;
  }

  void Tick(const PipelineRule& rule) {
    seen_.seconds = kStepsPerTick * kStep;
    seen_.fetching = std::ssize(fetches_);
    seen_.waiting = next_ - taken_ - seen_.fetching;
    setting_ = rule(seen_);
    seen_ = {};
  }

  const SimulatedPipeline& pipeline_;
  PipelineSetting setting_;
  int64_t steps_ = 0;
  double now_ = 0;
  std::vector<Fetch> fetches_;
  std::set<int64_t> fetched_;
  std::set<int64_t> decoded_;
  double worked_ = 0;  // time spent on the first of fetched_
  int64_t next_ = 0;   // the next sample to fetch
  int64_t taken_ = 0;  // samples
  double compute_left_ = 0;
  double held_ = 0;  // bytes
  PipelineSeen seen_;
  SimulatedRun run_;
};

}  // namespace

SimulatedRun Simulate(const SimulatedPipeline& pipeline, PipelineSetting first,
                      const PipelineRule& rule) {
  return Simulation(pipeline, first).Run(rule);
}

}  // namespace gandem::testing
