// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "pipeline/control/link_of_fetches.h"

namespace gandem {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTick = 0.1;
constexpr double kAlmost = 1e-9;

// In [0, 1): the same for every rule. SplitMix64 (Steele, Lea and Flood 2014).
double DrawOf(int64_t sample, uint64_t purpose) {
  uint64_t z =
      (static_cast<uint64_t>(sample) * 8 + purpose + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

// Tasks that share something evenly: each gets `rate`, so what is left of a
// task is the work at its end less the work that each was given so far.
class SharedServer {
 public:
  void Add(double work, int64_t sample) {
    ends_.emplace(given_ + work, sample);
  }
  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  void Advance(double seconds, double rate) { given_ += seconds * rate; }
  double Left(double rate) const {
    if (ends_.empty() || rate <= 0) return kNever;
    return std::max(0.0, ends_.top().first - given_) / rate;
  }
  // Whether a task is done, or would be in a billionth of a second.
  bool IsDone(double rate) const {
    return !ends_.empty() && ends_.top().first - given_ <=
                                 std::max(rate * kAlmost, given_ * 1e-12);
  }
  int64_t Take() {
    const int64_t sample = ends_.top().second;
    ends_.pop();
    return sample;
  }

 private:
  using End = std::pair<double, int64_t>;
  double given_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

class Simulation {
 public:
  Simulation(const PipelineTrace& trace, PipelineSetting first,
             const PipelineRule& rule)
      : trace_(trace), rule_(rule), setting_(first), link_(LinkOf(trace)) {}

  SimulatedRun Run();

 private:
  using Event = std::pair<double, int64_t>;

  const LinkPart& Link() const { return link_[link_place_]; }
  double TransferRate() const;
  double CoreShare() const;
  double NextEvent() const;
  void Advance(double to);
  void StartFetches();
  void EndFetches();
  void StartWork();
  void EndWork();
  void TakeBatch();
  void Tick();
  void Hold(double bytes);

  const PipelineTrace& trace_;
  const PipelineRule& rule_;
  PipelineSetting setting_;
  const std::vector<LinkPart> link_;

  double now_ = 0;
  size_t link_place_ = 0;
  double next_tick_ = kTick;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> requests_;
  SharedServer transfers_;  // in bytes
  SharedServer work_;       // in seconds
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> fetched_;
  std::vector<double> started_;  // by sample
  std::vector<bool> finished_;
  int64_t next_fetch_ = 0;
  int64_t taken_ = 0;        // samples
  int64_t ready_ = 0;        // of the next batch
  double compute_left_ = 0;  // of the batch; 0: it wants another
  bool has_begun_ = false;
  double bytes_ = 0;
  double silence_began_ = 0;
  PipelineSeen seen_;
  SimulatedRun run_;
};

double Simulation::TransferRate() const {
  if (transfers_.empty()) return 0;
  const double even =
      Link().bytes_per_second / static_cast<double>(transfers_.size());
  const double own = Link().connection_bytes_per_second;
  return own > 0 ? std::min(even, own) : even;
}

double Simulation::CoreShare() const {
  const auto wanted =
      static_cast<double>(work_.size()) +
      (compute_left_ > 0 ? static_cast<double>(trace_.job.trainer_cores) : 0.0);
  const auto cores = static_cast<double>(trace_.job.cores);
  return wanted > cores ? cores / wanted : 1;
}

double Simulation::NextEvent() const {
  const double share = CoreShare();
  double next = std::min(next_tick_, trace_.seconds);
  if (link_place_ + 1 < link_.size()) {
    next = std::min(next, link_[link_place_ + 1].at);
  }
  if (!requests_.empty()) next = std::min(next, requests_.top().first);
  next = std::min(next, now_ + transfers_.Left(TransferRate()));
  next = std::min(next, now_ + work_.Left(share));
  if (compute_left_ > 0) next = std::min(next, now_ + compute_left_ / share);
  return std::max(next, now_);
}

void Simulation::Advance(double to) {
  const double seconds = to - now_;
  const double share = CoreShare();
  const bool waits = compute_left_ == 0 && BatchSecondsAt(trace_, now_) > 0;
  if (waits) seen_.stalled_seconds += seconds;
  if (has_begun_) {
    run_.seconds += seconds;
    if (waits) run_.stalled_seconds += seconds;
    if (compute_left_ > 0) run_.stolen_seconds += seconds * (1 - share);
  }
  run_.average_bytes += seconds * bytes_;
  run_.fetches += seconds * setting_.fetches;
  run_.workers += seconds * setting_.workers;
  seen_.work_seconds += seconds * share * static_cast<double>(work_.size());
  transfers_.Advance(seconds, TransferRate());
  work_.Advance(seconds, share);
  if (compute_left_ > 0) {
    compute_left_ -= seconds * share;
    if (compute_left_ < kAlmost) compute_left_ = 0;
  }
  now_ = to;
}

void Simulation::Hold(double bytes) {
  bytes_ += bytes;
  run_.peak_bytes = std::max(run_.peak_bytes, bytes_);
}

void Simulation::StartFetches() {
  while (seen_.fetching < setting_.fetches &&
         next_fetch_ < taken_ + setting_.ahead) {
    const int64_t sample = next_fetch_++;
    const LinkPart& link = Link();
    double latency =
        std::max(0.0, link.latency + link.spread * (2 * DrawOf(sample, 0) - 1));
    if (DrawOf(sample, 1) < link.slow_share) latency += link.slow_seconds;
    requests_.emplace(now_ + latency, sample);
    started_.push_back(now_);
    finished_.push_back(false);
    if (seen_.fetching++ == 0) silence_began_ = now_;
    Hold(static_cast<double>(StoredBytesOf(trace_.job, sample)));
  }
}

void Simulation::EndFetches() {
  while (!requests_.empty() && requests_.top().first <= now_) {
    const int64_t sample = requests_.top().second;
    requests_.pop();
    transfers_.Add(static_cast<double>(StoredBytesOf(trace_.job, sample)),
                   sample);
  }
  while (transfers_.IsDone(TransferRate())) {
    const int64_t sample = transfers_.Take();
    seen_.fetches.push_back(
        {.seconds = now_ - started_[static_cast<size_t>(sample)],
         .bytes = StoredBytesOf(trace_.job, sample)});
    seen_.longest_silence =
        std::max(seen_.longest_silence, now_ - silence_began_);
    silence_began_ = now_;
    --seen_.fetching;
    ++seen_.waiting;
    fetched_.push(sample);
  }
}

void Simulation::StartWork() {
  while (!fetched_.empty() && std::cmp_less(work_.size(), setting_.workers) &&
         fetched_.top() < taken_ + setting_.finished_ahead) {
    work_.Add(trace_.job.work_seconds, fetched_.top());
    fetched_.pop();
    Hold(static_cast<double>(trace_.job.sample_bytes));
  }
}

void Simulation::EndWork() {
  while (work_.IsDone(CoreShare())) {
    const int64_t sample = work_.Take();
    finished_[static_cast<size_t>(sample)] = true;
    ++seen_.finished;
    if (sample < taken_ + trace_.job.batch) ++ready_;
    Hold(-static_cast<double>(StoredBytesOf(trace_.job, sample)));
  }
}

void Simulation::TakeBatch() {
  const double seconds = BatchSecondsAt(trace_, now_);
  if (compute_left_ > 0 || seconds == 0 || ready_ < trace_.job.batch) return;
  taken_ += trace_.job.batch;
  Hold(-static_cast<double>(trace_.job.batch * trace_.job.sample_bytes));
  ready_ = std::count(
      finished_.begin() + std::min<int64_t>(taken_, std::ssize(finished_)),
      finished_.begin() +
          std::min<int64_t>(taken_ + trace_.job.batch, std::ssize(finished_)),
      true);
  seen_.consumed += trace_.job.batch;
  seen_.waiting -= trace_.job.batch;
  run_.samples += trace_.job.batch;
  compute_left_ = seconds;
  if (!has_begun_) run_.first_batch_at = now_;
  has_begun_ = true;
}

void Simulation::Tick() {
  if (now_ < next_tick_) return;
  next_tick_ += kTick;
  seen_.seconds = kTick;
  if (seen_.fetching > 0) {
    seen_.longest_silence =
        std::max(seen_.longest_silence, now_ - silence_began_);
  }
  seen_.waiting_bytes = static_cast<int64_t>(bytes_);
  const PipelineSetting next = rule_(seen_);
  if (next != setting_) ++run_.changes;
  setting_ = next;
  seen_ = {.fetching = seen_.fetching, .waiting = seen_.waiting};
}

SimulatedRun Simulation::Run() {
  StartFetches();
  while (now_ < trace_.seconds) {
    Advance(NextEvent());
    while (link_place_ + 1 < link_.size() &&
           link_[link_place_ + 1].at <= now_) {
      ++link_place_;
    }
    EndFetches();
    EndWork();
    TakeBatch();
    Tick();
    StartWork();
    StartFetches();
  }
  run_.average_bytes /= now_;
  run_.fetches /= now_;
  run_.workers /= now_;
  return run_;
}

}  // namespace

int64_t StoredBytesOf(const PipelineJob& job, int64_t sample) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(static_cast<double>(job.stored_bytes) *
                              (0.5 + DrawOf(sample, 2))));
}

double BatchSecondsAt(const PipelineTrace& trace, double at) {
  const auto after =
      std::ranges::upper_bound(trace.demand, at, {}, &DemandPart::at);
  return after == trace.demand.begin() ? 0 : (after - 1)->batch_seconds;
}

SimulatedRun Simulate(const PipelineTrace& trace, PipelineSetting first,
                      const PipelineRule& rule) {
  return Simulation(trace, first, rule).Run();
}

SimulatedRun SimulateStatic(const PipelineTrace& trace,
                            PipelineSetting setting) {
  return Simulate(trace, setting, [&](const PipelineSeen&) { return setting; });
}

}  // namespace gandem
