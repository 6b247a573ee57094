// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/controller.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace gandem {
namespace {

// Seconds without images to be prepared for before any gap was seen. Measured:
// with 10 instead of 20, the first 2 s outage and the first drop of a 100
// Mbit/s link to a tenth stalled the trainer for 2.8 and 4.8 s.
constexpr double kUnseenGap = 20;
// Seconds of pause that any source may have, such as a busy disk (chosen). For
// remote sources the observed gaps decide.
constexpr double kLeastGap = 0.5;
// Seconds (chosen). Memory cannot make up for a source that lags longer.
constexpr double kLongestGap = 60;
// Seconds. Chosen as four times the minute between drops in
// benchmarks/stalls.py, so that kMargin covers the decay between two drops.
constexpr double kGapHalfLife = 240;
// Seconds per read: local disks are faster (measured: 0.1 ms), networks slower.
constexpr double kRemoteRead = 0.002;

// Seconds (chosen): covers many reads, but follows changes of a link.
constexpr double kHalfLife = 2;
// Seconds of computing (chosen): higher demand is noticed within 1 s.
constexpr double kDemandHalfLife = 2;
// A batch that takes this multiple of the usual time contains a pause, such as
// a checkpoint or an evaluation (chosen).
constexpr double kPauseTimes = 10;
// Seconds (chosen): intervals of 0.1 s cannot resolve faster batches.
constexpr double kLeastBatchSeconds = 1e-3;

// Safety factor (chosen): the mean alone is too small half of the time.
constexpr double kMargin = 1.25;
// Seconds in which missing samples are fetched (chosen): short compared to
// gaps, long compared to reads.
constexpr double kRefillSeconds = 2;
// Seconds of demand that wait decoded in addition to two batches (chosen).
constexpr double kFinishedSeconds = 0.2;

// Concurrent fetches until the demand is known, and reads until their usual
// time is known (chosen). The trainer waits meanwhile.
constexpr int kFirstFetches = 32;
// Multiple of the bandwidth-delay product, as in BBR (Cardwell et al. 2016).
constexpr double kInFlightGain = 2;
// Reads (chosen): keep a link busy when its estimates are wrong.
constexpr double kFewestInFlight = 8;

double Fading(double seconds, double half_life) {
  return std::exp2(-seconds / half_life);
}

}  // namespace

void PipelineController::ReadTimes::Fade(double kept) {
  for (double* sum : {&samples, &bytes, &reads, &seconds, &squares}) {
    *sum *= kept;
  }
}

void PipelineController::ReadTimes::Add(double read_seconds) {
  ++reads;
  seconds += read_seconds;
  squares += read_seconds * read_seconds;
}

// Increases of more than a tenth apply at once. A value that is too large by a
// seventh for five seconds decreases by a tenth per second. Chosen, because
// oscillation costs threads and trials.
int64_t PipelineController::Follower::Follow(int64_t now, double wanted,
                                             double interval_seconds) {
  const auto current = static_cast<double>(now);
  if (wanted >= 0.85 * current) {
    less_for_ = 0;
    return wanted > 1.1 * current ? static_cast<int64_t>(wanted) : now;
  }
  less_for_ += interval_seconds;
  if (less_for_ < 5) return now;
  less_for_ -= 1;
  return static_cast<int64_t>(
      std::max(wanted, std::min(current - 1, 0.9 * current)));
}

PipelineController::PipelineController(const PipelineLimits& limits)
    : limits_(limits), gap_(kUnseenGap) {
  // All cores are free, because the trainer waits for the first batches.
  setting_ = {.fetches = std::min(kFirstFetches, limits.max_fetches),
              .workers = limits.max_workers,
              .ahead = limits.least_ahead};
  SetAhead(0);
}

PipelineSetting PipelineController::Update(const PipelineSeen& seen) {
  SeeDemand(seen);
  SeeReads(seen);
  const double kept = Fading(seen.seconds, kHalfLife);
  work_ = work_ * kept + seen.work_seconds;
  worked_ = worked_ * kept + static_cast<double>(seen.finished);
  if (demand_ <= 0) return setting_;
  SeeGap(seen);
  SetAhead(seen.seconds);
  SetFetches(seen);
  SetWorkers(seen);
  WarnOfMemory();
  return setting_;
}

// A trainer takes a batch at once and then computes, so a batch is paired with
// the computing time until the next one.
void PipelineController::SeeDemand(const PipelineSeen& seen) {
  open_seconds_ += std::max(0.0, seen.seconds - seen.stalled_seconds);
  if (seen.consumed == 0) return;
  if (open_samples_ > 0) {
    double seconds = std::max(open_seconds_, kLeastBatchSeconds);
    if (taken_ > 0) {
      seconds =
          std::min(seconds, kPauseTimes * open_samples_ * computed_ / taken_);
    }
    const double kept = Fading(seconds, kDemandHalfLife);
    taken_ = taken_ * kept + open_samples_;
    computed_ = computed_ * kept + seconds;
    demand_ = taken_ / computed_;
  }
  open_samples_ = static_cast<double>(seen.consumed);
  open_seconds_ = 0;
}

void PipelineController::SeeReads(const PipelineSeen& seen) {
  recent_.Fade(Fading(seen.seconds, kHalfLife));
  usual_.Fade(Fading(seen.seconds, kGapHalfLife));
  double ended = 0;
  for (const FetchSeen& fetch : seen.fetches) {
    ++recent_.samples;
    ++usual_.samples;
    usual_.bytes += static_cast<double>(fetch.bytes);
    shares_pieces_ |= fetch.at_hand;
    if (fetch.at_hand) continue;
    recent_.Add(fetch.seconds);
    usual_.Add(fetch.seconds);
    ++ended;
  }
  const double kept = std::exp(-seen.seconds);  // time constant of a second
  read_rate_ = read_rate_ * kept + (1 - kept) * ended / seen.seconds;
}

// Lindley's recursion: demanded samples minus fetched ones. Samples that are
// not fetched because of a reduced read-ahead are not late.
void PipelineController::SeeGap(const PipelineSeen& seen) {
  shortfall_ += static_cast<double>(seen.consumed - std::ssize(seen.fetches)) +
                demand_ * seen.stalled_seconds;
  const double not_wanted = std::clamp(shortfall_, 0.0, unwanted_);
  unwanted_ -= not_wanted;
  shortfall_ = std::clamp(shortfall_ - not_wanted, 0.0, demand_ * kLongestGap);
  const double gap = shortfall_ / demand_;
  gap_ = std::max(gap, gap_ * Fading(seen.seconds, kGapHalfLife));
  longest_gap_ = std::max(longest_gap_, gap);
}

double PipelineController::StoredBytes() const {
  return usual_.samples > 0 ? usual_.bytes / usual_.samples
                            : static_cast<double>(limits_.sample_bytes);
}

// Returns at most a quarter of the memory, so that most of it holds stored
// samples, but at least the minimum read-ahead.
double PipelineController::FinishedWanted() const {
  const double wanted =
      static_cast<double>(2 * limits_.least_ahead + limits_.max_workers) +
      demand_ * kFinishedSeconds;
  const double quarter = static_cast<double>(limits_.memory_bytes) / 4 /
                         static_cast<double>(limits_.sample_bytes);
  return std::min(wanted,
                  std::max(static_cast<double>(limits_.least_ahead), quarter));
}

double PipelineController::SamplesInMemory() const {
  const auto sample = static_cast<double>(limits_.sample_bytes);
  const double stored = StoredBytes();
  // A sample being decoded is in memory twice.
  const double room = std::max(0.0, static_cast<double>(limits_.memory_bytes) -
                                        stored * limits_.max_workers);
  if (stored >= sample) return room / stored;
  const double finished = std::min(room / sample, FinishedWanted());
  return finished + (room - finished * sample) / stored;
}

// Sets `ahead` to cover the batch, running fetches and the longest gap.
void PipelineController::SetAhead(double seconds) {
  const bool is_remote = usual_.PerRead() >= kRemoteRead;
  const double gap = std::max(kLeastGap, is_remote ? kMargin * gap_ : 0.0);
  const double wanted = static_cast<double>(limits_.least_ahead) +
                        setting_.fetches + setting_.workers +
                        demand_ * (gap + recent_.UnderWay());
  const int64_t before = setting_.ahead;
  const int64_t most =
      std::max(limits_.least_ahead, static_cast<int64_t>(SamplesInMemory()));
  setting_.ahead = std::clamp(
      ahead_.Follow(before, std::min(wanted, static_cast<double>(most)),
                    seconds),
      limits_.least_ahead, most);
  unwanted_ =
      std::max(0.0, unwanted_ + static_cast<double>(before - setting_.ahead));
  setting_.finished_ahead =
      StoredBytes() < static_cast<double>(limits_.sample_bytes)
          ? std::clamp(static_cast<int64_t>(FinishedWanted()),
                       limits_.least_ahead, setting_.ahead)
          : setting_.ahead;
}

// Sets `fetches` by Little's law, L = lambda W (Little 1961).
void PipelineController::SetFetches(const PipelineSeen& seen) {
  const auto missing = static_cast<double>(
      setting_.ahead - limits_.least_ahead - seen.waiting - seen.fetching);
  const double rate = demand_ + std::max(0.0, missing) / kRefillSeconds;
  const double wanted = std::ceil(kMargin * rate * recent_.PerSample());
  auto fetches = static_cast<double>(std::clamp<int64_t>(
      fetches_.Follow(setting_.fetches, wanted, seen.seconds), 1,
      limits_.max_fetches));
  // Concurrent reads share the bandwidth of a slow link, so too many delay the
  // samples needed first. This limit applies only to pieces with many samples,
  // which mostly wait for bandwidth; single samples mostly wait for latency.
  if (shares_pieces_ && usual_.reads >= kFirstFetches) {
    fetches = std::min(fetches, std::ceil(std::max(kFewestInFlight,
                                                   kInFlightGain * read_rate_ *
                                                       usual_.PerRead())));
  }
  setting_.fetches = static_cast<int>(fetches);
}

// Sets `workers` to the cores that decoding at the demanded rate keeps busy.
void PipelineController::SetWorkers(const PipelineSeen& seen) {
  if (worked_ < 1) return;
  const double wanted = std::ceil(kMargin * demand_ * work_ / worked_);
  setting_.workers = static_cast<int>(std::clamp<int64_t>(
      workers_.Follow(setting_.workers, wanted, seen.seconds), 1,
      limits_.max_workers));
}

void PipelineController::WarnOfMemory() {
  const double missing = longest_gap_ * demand_ - SamplesInMemory();
  // The length of a gap is known only at its end.
  if (warned_ || shortfall_ > 0.9 * longest_gap_ * demand_ ||
      longest_gap_ < kLeastGap || missing <= 0) {
    return;
  }
  warned_ = true;
  warning_ = absl::StrFormat(
      "images stayed away for %.1f s, and those that fit in memory last for "
      "%.1f s: the trainer waits in such a gap; data.memory_bytes with %d "
      "bytes more would bridge it",
      longest_gap_, SamplesInMemory() / demand_,
      static_cast<int64_t>(missing * StoredBytes()));
}

std::string PipelineController::WhyText() const {
  return absl::StrFormat(
      "%d fetches (%.0f samples/s, %.1f ms each), %d workers (%.2f ms a "
      "sample), %d samples ahead (gaps of %.1f s)",
      setting_.fetches, demand_, 1e3 * recent_.PerSample(), setting_.workers,
      worked_ > 0 ? 1e3 * work_ / worked_ : 0, setting_.ahead, gap_);
}

}  // namespace gandem
