// SPDX-License-Identifier: Apache-2.0
#include "pipeline/control/controller.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gandem {
namespace {

// What a run is ready for before it has seen anything: gaps of so many seconds.
// Fades like one that was seen.
constexpr double kUnseenGap = 20;
// A source whose slowest fetches take less has no network behind it.
constexpr double kRemoteSeconds = 0.002;
// Always ready for, in seconds of the trainer's demand.
constexpr double kLeastGap = 0.5;
// Who is behind for longer is too slow: no memory makes up for it.
constexpr double kLongestGap = 60;
constexpr double kGapHalfLife = 120;
constexpr double kGapMargin = 1.25;
// No end of a fetch for so many times the slow ones' service time.
constexpr double kSilentTimes = 3;
constexpr double kLeastSilence = 0.25;
constexpr double kServiceHalfLife = 5;
constexpr double kWorkHalfLife = 10;
// What is missing is fetched within so many seconds.
constexpr double kRefillSeconds = 2;
constexpr double kFirstRefillSeconds = 0.2;
// Decoded samples that wait, beside two batches, in seconds of demand.
constexpr double kFinishedSeconds = 0.2;
// Sizes of stored samples differ, by shard too.
constexpr double kStoredMargin = 1.1;
constexpr double kSizesRemembered = 256;
constexpr double kFetchMargin = 1.25;
constexpr double kWorkerMargin = 1.25;
// Less memory and fewer threads are taken when they were enough for so long.
constexpr double kGiveBackAfter = 5;
constexpr int kFirstFetches = 32;
// No more are under way than come in so many times their usual time.
constexpr double kInFlightGain = 2;
constexpr double kFewestInFlight = 8;
constexpr double kInFlightStep = 1.3;
constexpr double kKnownReads = 64;
constexpr int kFirstBatches = 4;

double Fading(double seconds, double half_life) {
  return std::exp2(-seconds / half_life);
}

}  // namespace

PipelineController::PipelineController(const PipelineLimits& limits)
    : limits_(limits),
      service_(kServiceHalfLife),
      reads_(kGapHalfLife),
      ramp_(std::min(kFirstFetches, limits.max_fetches), limits.max_fetches),
      gap_seconds_(kUnseenGap) {
  // The trainer waits for the first batches, so all cores are free.
  setting_ = {.fetches = ramp_.fetches(),
              .workers = limits.max_workers,
              .ahead = kFirstBatches * limits.least_ahead};
  setting_.ahead = std::clamp(static_cast<int64_t>(SamplesInMemory()),
                              limits.least_ahead, setting_.ahead);
  setting_.finished_ahead = setting_.ahead;
}

PipelineSetting PipelineController::Update(const PipelineSeen& seen) {
  demand_.Update(seen.seconds, seen.consumed, seen.stalled_seconds);
  SeeFetches(seen);
  SeeGaps(seen);
  const double kept = Fading(seen.seconds, kWorkHalfLife);
  work_ = work_ * kept + seen.work_seconds;
  worked_ = worked_ * kept + static_cast<double>(seen.finished);
  SetAhead(seen.seconds);
  SetFinishedAhead();
  const double rate = RateWanted(seen);
  SetFetches(seen, rate);
  SetWorkers(seen.seconds, rate);
  WarnOfMemory();
  return setting_;
}

double PipelineController::SlowSeconds(double part) const {
  return std::max(service_.Quantile(part), service_.MeanUnderWay());
}

void PipelineController::SeeFetches(const PipelineSeen& seen) {
  const double silent_after =
      std::max(kLeastSilence, kSilentTimes * SlowSeconds(0.95));
  service_.Fade(seen.seconds);
  const bool was_silent = seen.longest_silence > silent_after;
  silent_ = was_silent && seen.fetches.empty();
  after_silence_ += seen.seconds;
  if (was_silent) {
    silence_ = seen.longest_silence;
    after_silence_ = 0;
  }
  double bytes = 0;
  for (const FetchSeen& fetch : seen.fetches) {
    // A gap that it lived through is a matter of how far ahead to be, not of
    // how many fetches to have.
    const bool lived_through = after_silence_ < 1 && fetch.seconds > silence_;
    service_.Add(lived_through ? fetch.seconds - silence_ : fetch.seconds);
    bytes += static_cast<double>(fetch.bytes);
  }
  for (const double seconds : seen.look_seconds) service_.AddPart(seconds);
  SeeReads(seen);
  if (!seen.fetches.empty()) {
    const auto count = static_cast<double>(seen.fetches.size());
    const double weight = count / (count + kSizesRemembered);
    mean_bytes_ +=
        (mean_bytes_ > 0 ? weight : 1) * (bytes / count - mean_bytes_);
    stored_bytes_ = std::max(stored_bytes_ * Fading(seen.seconds, kGapHalfLife),
                             kStoredMargin * mean_bytes_);
  }
  if (service_.Quantile(0.99) >= kRemoteSeconds) is_remote_ = true;
  const double kept = std::exp(-seen.seconds);
  fetched_rate_ =
      fetched_rate_ * kept +
      (1 - kept) * static_cast<double>(seen.fetches.size()) / seen.seconds;
}

void PipelineController::SeeReads(const PipelineSeen& seen) {
  reads_.Fade(seen.seconds);
  double ended = 0;
  const auto add = [&](double seconds) {
    reads_.Add(seconds);
    ++ended;
  };
  for (const FetchSeen& fetch : seen.fetches) {
    shares_pieces_ |= fetch.at_hand;
    if (!fetch.at_hand) add(fetch.seconds);
  }
  for (const double seconds : seen.look_seconds) add(seconds);
  const double kept = std::exp(-seen.seconds);
  reads_ended_ = reads_ended_ * kept + ended;
  read_seconds_ = read_seconds_ * kept + seen.seconds;
  SetInFlight();
}

// A link that has become slow is shared by all that is under way, so what is
// needed first would come as late as what was asked for last. Only of pieces
// that have many samples: mostly it is the link that makes these late, where
// single samples wait for an answer, and more of them bring more.
void PipelineController::SetInFlight() {
  if (!shares_pieces_ || reads_.total() < kKnownReads) return;
  const double most =
      std::max(kFewestInFlight, kInFlightGain * reads_ended_ / read_seconds_ *
                                    reads_.Quantile(0.5));
  if (most < in_flight_ / kInFlightStep || most > in_flight_ * kInFlightStep) {
    in_flight_ = most;
  }
}

void PipelineController::SeeGaps(const PipelineSeen& seen) {
  const double rate = demand_.rate();
  gap_seconds_ *= Fading(seen.seconds, kGapHalfLife);
  // What it took and would have taken, less what came.
  shortfall_ += static_cast<double>(seen.consumed - std::ssize(seen.fetches)) +
                rate * seen.stalled_seconds;
  // What is not fetched because less is wanted now came not too late.
  const double not_wanted = std::min(std::max(0.0, shortfall_), unwanted_);
  unwanted_ -= not_wanted;
  shortfall_ = std::clamp(shortfall_ - not_wanted, 0.0, rate * kLongestGap);
  double gap = rate > 0 ? shortfall_ / rate : 0;
  if (silent_ || after_silence_ == 0) {
    gap = std::max(gap, std::min(silence_, kLongestGap));
  }
  gap_now_ = gap;
  gap_seconds_ = std::max(gap_seconds_, gap);
  longest_gap_ = std::max(longest_gap_, gap);
}

bool PipelineController::DecodesLate() const {
  return limits_.decodes_late && stored_bytes_ > 0 &&
         stored_bytes_ < static_cast<double>(limits_.sample_bytes);
}

int64_t PipelineController::FinishedWanted() const {
  const int64_t wanted =
      2 * limits_.least_ahead + limits_.max_workers +
      static_cast<int64_t>(demand_.rate() * kFinishedSeconds);
  const int64_t quarter =
      limits_.memory_bytes / (4 * std::max<int64_t>(1, limits_.sample_bytes));
  return std::min(wanted,
                  std::max(limits_.least_ahead + limits_.max_workers, quarter));
}

double PipelineController::SamplesInMemory() const {
  const auto sample = static_cast<double>(limits_.sample_bytes);
  // While a sample is decoded, it is there twice.
  const double room = std::max(
      0.0, static_cast<double>(limits_.memory_bytes) -
               stored_bytes_ * static_cast<double>(limits_.max_workers));
  if (!DecodesLate()) return room / std::max(sample, stored_bytes_);
  const double finished =
      std::min(room / sample, static_cast<double>(FinishedWanted()));
  return finished + (room - finished * sample) / stored_bytes_;
}

int64_t PipelineController::AheadWanted() const {
  const double rate = demand_.rate();
  if (rate <= 0) return setting_.ahead;
  // The batch that is being put together, what is under way, and what bridges
  // the longest gap.
  const double gap =
      std::max(kLeastGap, is_remote_ ? kGapMargin * gap_seconds_ : 0.0);
  const double wanted = static_cast<double>(limits_.least_ahead) +
                        setting_.fetches + setting_.workers +
                        rate * (gap + SlowSeconds(0.99));
  return std::max(limits_.least_ahead,
                  static_cast<int64_t>(std::min(wanted, SamplesInMemory())));
}

void PipelineController::SetAhead(double seconds) {
  const int64_t most =
      std::max(limits_.least_ahead, static_cast<int64_t>(SamplesInMemory()));
  const int64_t wanted = AheadWanted();
  const int64_t before = setting_.ahead;
  less_ahead_for_ = wanted < 0.85 * before ? less_ahead_for_ + seconds : 0;
  if (wanted > 1.1 * before) {
    setting_.ahead = wanted;
  } else if (less_ahead_for_ >= kGiveBackAfter) {
    setting_.ahead = std::max(wanted, static_cast<int64_t>(0.9 * before));
    less_ahead_for_ = kGiveBackAfter - 1;  // a step a second
  }
  setting_.ahead = std::min(setting_.ahead, most);
  unwanted_ =
      std::max(0.0, unwanted_ + static_cast<double>(before - setting_.ahead));
}

void PipelineController::SetFinishedAhead() {
  if (!DecodesLate()) {
    setting_.finished_ahead = setting_.ahead;
    return;
  }
  const int64_t most =
      limits_.memory_bytes / std::max<int64_t>(1, limits_.sample_bytes);
  const int64_t wanted = std::max(
      limits_.least_ahead, std::min({FinishedWanted(), setting_.ahead, most}));
  const auto before = static_cast<double>(setting_.finished_ahead);
  const auto now = static_cast<double>(wanted);
  if (now > before || now < 0.7 * before) setting_.finished_ahead = wanted;
}

double PipelineController::RateWanted(const PipelineSeen& seen) const {
  const double missing =
      static_cast<double>(setting_.ahead - limits_.least_ahead - seen.waiting -
                          seen.fetching - seen.put_off);
  // Before the demand is known, the trainer waits for its first batches.
  return demand_.rate() +
         std::max(0.0, missing) /
             (demand_.rate() > 0 ? kRefillSeconds : kFirstRefillSeconds);
}

void PipelineController::SetFetches(const PipelineSeen& seen, double rate) {
  // L = lambda W (Little 1961), with a high quantile for W: the mean is too few
  // half of the time.
  const double service =
      std::max(kFetchMargin * service_.Mean(), service_.Quantile(0.9));
  setting_.fetches = ramp_.Update(
      {.seconds = seen.seconds,
       .wanted = std::max(1.0, rate * service),
       .running = seen.fetching,
       .ended = static_cast<int64_t>(seen.fetches.size()),
       .service_seconds = std::max(service, service_.MeanUnderWay()),
       .silent = silent_});
  setting_.fetches = static_cast<int>(
      std::min<double>(setting_.fetches, std::ceil(in_flight_)));
}

void PipelineController::SetWorkers(double seconds, double rate) {
  if (worked_ < 1) return;
  // A queue of samples is worked off as fast as they come, not faster.
  const double most = std::max(demand_.rate(), 1.1 * fetched_rate_);
  const double busy = std::min(rate, most) * work_ / worked_;
  const auto wanted = std::clamp(
      static_cast<int>(std::ceil(std::min(kWorkerMargin * busy, 1e6))), 1,
      limits_.max_workers);
  less_workers_for_ =
      wanted < setting_.workers ? less_workers_for_ + seconds : 0;
  if (wanted > setting_.workers) {
    setting_.workers = wanted;
  } else if (less_workers_for_ >= kGiveBackAfter) {
    --setting_.workers;
    less_workers_for_ = kGiveBackAfter - 1;
  }
}

void PipelineController::WarnOfMemory() {
  const double needed = longest_gap_ * demand_.rate();
  // At the end of a gap its length is known.
  if (warned_ || gap_now_ > 0.9 * longest_gap_ || longest_gap_ < kLeastGap ||
      needed <= SamplesInMemory()) {
    return;
  }
  warned_ = true;
  const double bytes =
      DecodesLate()
          ? stored_bytes_
          : std::max(static_cast<double>(limits_.sample_bytes), stored_bytes_);
  warning_ = absl::StrFormat(
      "images stayed away for %.1f s, and those that fit in memory last for "
      "%.1f s: the trainer waits in such a gap; data.memory_bytes with %d "
      "bytes more would bridge it",
      longest_gap_, SamplesInMemory() / demand_.rate(),
      static_cast<int64_t>((needed - SamplesInMemory()) * bytes));
}

std::string PipelineController::WhyText() const {
  return absl::StrFormat(
      "%d fetches (%.0f samples/s, %.1f ms each%s), %d workers (%.2f ms a "
      "sample), %d samples ahead (gaps of %.1f s)",
      setting_.fetches, demand_.rate(), 1e3 * service_.Mean(),
      ramp_.saturated() ? ", the link is full" : "", setting_.workers,
      worked_ > 0 ? 1e3 * work_ / worked_ : 0, setting_.ahead, gap_seconds_);
}

}  // namespace gandem
