// SPDX-License-Identifier: Apache-2.0
#include "pipeline/feed/prefetcher.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/faults.h"
#include "common/monotonic_time.h"
#include "common/process/log.h"
#include "common/process/thread.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "pipeline/pieces_read.h"
#include "pipeline/read_stop.h"

namespace gandem {
namespace {

constexpr absl::Duration kUpdateInterval = absl::Milliseconds(100);

// Returns the memory for samples, without the trainer's and the spare batch.
int64_t BytesToWait(const Prefetcher::Options& options, int64_t sample_values) {
  const int64_t batch = options.StepImages() * sample_values *
                        static_cast<int64_t>(sizeof(float));
  return std::max(options.memory_bytes / 2, options.memory_bytes - 2 * batch);
}

PipelineLimits LimitsFor(const Prefetcher::Options& options,
                         int64_t sample_values) {
  return {
      .memory_bytes = BytesToWait(options, sample_values),
      .max_fetches = options.max_fetches,
      .max_workers = options.max_workers,
      .least_ahead = options.depth * options.StepImages(),
      .sample_bytes = sample_values * static_cast<int64_t>(sizeof(float)),
  };
}

double ThreadSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Prefetcher>> Prefetcher::Create(
    std::shared_ptr<const Dataset> dataset, Options options) {
  Faults faults("prefetcher");
  faults.CheckRange("first_step", options.first_step, 0, int64_t{1} << 40);
  faults.CheckRange("batch_size", options.batch_size, 1, int64_t{1} << 20);
  faults.CheckRange("batches", options.batches, 1, int64_t{1} << 20);
  faults.CheckRange("depth", options.depth, 1, 1024);
  faults.CheckRange("memory_bytes", options.memory_bytes, 1, int64_t{1} << 50);
  faults.CheckRange("max_fetches", options.max_fetches, 1, 1024);
  faults.CheckRange("max_workers", options.max_workers, 1, 1024);
  if (options.batch_size >= 1) {
    faults.CheckRange("first_image", options.first_image, 0,
                      options.batch_size - 1);
    faults.CheckRange("num_images", options.num_images, 0,
                      options.batch_size - options.first_image);
  }
  GANDEM_RETURN_IF_ERROR(faults.ToStatus());
  if (options.num_images == 0) {
    options.num_images = options.batch_size - options.first_image;
  }
  std::unique_ptr<Prefetcher> prefetcher(
      new Prefetcher(std::move(dataset), options));
  {
    absl::MutexLock lock(&prefetcher->mu_);
    prefetcher->Apply(prefetcher->controller_.setting());
  }
  prefetcher->StartThreads();
  return prefetcher;
}

Prefetcher::Prefetcher(std::shared_ptr<const Dataset> dataset,
                       const Options& options)
    : dataset_(std::move(dataset)),
      options_(options),
      order_(options.seed, dataset_->Units()),
      board_({.batch_samples = options.StepImages(),
              .sample_values = dataset_->shape().NumValues(),
              .memory_bytes =
                  BytesToWait(options, dataset_->shape().NumValues())}),
      meter_(options.clock->Now()),
      controller_(LimitsFor(options, dataset_->shape().NumValues())),
      fetchers_("fetch", [this] { FetchLoop(); }),
      finishers_("decode", [this] { FinishLoop(); }) {}

Prefetcher::~Prefetcher() {
  Close(absl::CancelledError("the prefetcher is gone"));
  // A thread of one crew may be starting threads of the other.
  fetchers_.Join();
  finishers_.Join();
}

void Prefetcher::Close(absl::Status reason) {
  GANDEM_CHECK(!reason.ok());
  stop_ = true;
  absl::MutexLock lock(&mu_);
  if (closed_.ok()) closed_ = std::move(reason);
}

bool Prefetcher::FetcherWakes() const {
  return !closed_.ok() || board_.CanFetch();
}

std::optional<Prefetcher::FetchWork> Prefetcher::NextFetch() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &Prefetcher::FetcherWakes));
  if (!closed_.ok()) return std::nullopt;
  meter_.FetchBegan();
  return FetchWork{.position = board_.BeginFetch(),
                   .began = options_.clock->Now()};
}

void Prefetcher::FetchLoop() {
  while (const std::optional<FetchWork> work = NextFetch()) {
    Fetch(*work);
    StartThreads();
  }
}

absl::StatusOr<KeptSample> Prefetcher::FetchAndKeep(int64_t position) {
  const TraceSpan span("fetch image", {"step", StepOf(position)});
  const ScopedReadStop scope(&stop_);
  GANDEM_ASSIGN_OR_RETURN(
      const StoredSample stored,
      dataset_->Fetch(order_.ImageOfSample(NumberOf(position))));
  return KeptSample{.image = chunks_.Keep(stored.image),
                    .input = chunks_.Keep(stored.input)};
}

void Prefetcher::Fetch(const FetchWork& work) {
  const ScopedPiecesRead pieces;
  absl::StatusOr<KeptSample> stored = FetchAndKeep(work.position);
  const int64_t bytes = stored.ok() ? stored->bytes() : 0;
  absl::MutexLock lock(&mu_);
  const absl::Time now = options_.clock->Now();
  const bool had_begun = board_.has_begun();
  meter_.FetchEnded(work.began, now, bytes, pieces.were_at_hand());
  board_.EndFetch(work.position, std::move(stored), now);
  // The sample size is now known: apply the deferred setting.
  if (!had_begun) Apply(board_.in_memory() ? InMemory() : setting_);
  Update(now);
}

bool Prefetcher::FinisherWakes() const {
  return !closed_.ok() || (finishing_ < setting_.workers && board_.CanFinish());
}

std::optional<SampleBoard::Work> Prefetcher::NextWork() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &Prefetcher::FinisherWakes));
  if (!closed_.ok()) return std::nullopt;
  ++finishing_;
  return board_.BeginFinish();
}

void Prefetcher::FinishLoop() {
  LowerPriority();
  while (std::optional<SampleBoard::Work> work = NextWork()) {
    Finish(*std::move(work));
    StartThreads();
  }
}

void Prefetcher::Finish(SampleBoard::Work work) {
  const double begin = ThreadSeconds();
  const int64_t values = dataset_->shape().NumValues();
  std::vector<int64_t> labels;
  absl::Status failure;
  {
    const TraceSpan span("read images", {"step", StepOf(work.first)});
    for (int64_t i = 0; i < work.count; ++i) {
      const int64_t number = NumberOf(work.first + i);
      const int64_t index = order_.ImageOfSample(number);
      const SampleKey key{.seed = options_.seed, .number = number};
      const std::span<float> out(work.pixels.get() + i * values,
                                 static_cast<size_t>(values));
      const absl::StatusOr<int64_t> label =
          work.stored.has_value()
              ? dataset_->Finish(index, work.stored->view(), key, out)
              : dataset_->ReadSample(index, key, out);
      if (!label.ok()) {
        failure = label.status();
        break;
      }
      labels.push_back(*label);
    }
  }
  const double seconds = ThreadSeconds() - begin;
  absl::MutexLock lock(&mu_);
  const auto finished = static_cast<int64_t>(labels.size());
  --finishing_;
  board_.EndFinish(work, labels);
  if (!failure.ok()) board_.Fail(work.first + finished, std::move(failure));
  meter_.Finished(finished, seconds);
  Update(options_.clock->Now());
}

bool Prefetcher::TakerWakes() const {
  return !closed_.ok() || board_.CanTake();
}

absl::StatusOr<RealBatch> Prefetcher::Next(absl::Time deadline) {
  while (true) {
    const absl::Time until =
        std::min(deadline, MonotonicNow() + kUpdateInterval);
    std::optional<absl::StatusOr<RealBatch>> batch = TakeUntil(until);
    StartThreads();
    if (batch.has_value()) return *std::move(batch);
    if (until == deadline) {
      return absl::DeadlineExceededError("no real images are ready");
    }
  }
}

std::optional<absl::StatusOr<RealBatch>> Prefetcher::TakeUntil(
    absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  const absl::Time begin = options_.clock->Now();
  if (!TakerWakes()) {
    AwaitUntil(&mu_, absl::Condition(this, &Prefetcher::TakerWakes), deadline);
    const absl::Time end = options_.clock->Now();
    meter_.Stalled(begin, board_.FetchedAt(begin, end), end);
    Update(end);
  }
  if (!board_.CanTake()) {
    if (!closed_.ok()) return closed_;
    return std::nullopt;
  }
  const int64_t step = StepOf(board_.taken());
  absl::StatusOr<SampleBoard::Batch> batch = board_.Take();
  if (!batch.ok()) {
    const absl::Status failure =
        Annotate(batch.status(),
                 absl::StrCat("real images of discriminator step ", step));
    // Final, although the caller would retry after DEADLINE_EXCEEDED.
    return absl::IsDeadlineExceeded(failure)
               ? absl::UnavailableError(failure.message())
               : failure;
  }
  meter_.Consumed(options_.StepImages());
  Update(options_.clock->Now());
  const std::span<const float> values(
      batch->pixels.get(), static_cast<size_t>(options_.StepImages() *
                                               dataset_->shape().NumValues()));
  return RealBatch{
      .step = step,
      .first_image = options_.first_image,
      .pixels = SharedBytes(std::move(batch->pixels), std::as_bytes(values)),
      .labels = std::move(batch->labels)};
}

void Prefetcher::Update(absl::Time now) {
  if (now - meter_.interval_begin() < kUpdateInterval) return;
  PipelineSeen seen = meter_.EndInterval(now);
  seen.waiting = board_.waiting();
  const PipelineSetting setting = NextSetting(seen);
  RecordCounter("samples that wait", seen.waiting);
  if (setting == setting_) return;
  Apply(setting);
  if (!IsTracing()) return;
  RecordInstant(TraceName(controller_.WhyText()), {"ahead", setting.ahead});
  RecordCounter("fetches", setting.fetches);
  RecordCounter("decode threads", setting.workers);
}

PipelineSetting Prefetcher::NextSetting(const PipelineSeen& seen) {
  if (board_.in_memory()) return setting_;
  const PipelineSetting setting = controller_.Update(seen);
  if (options_.held.has_value()) return *options_.held;
  const std::string warning = controller_.TakeWarning();
  if (!warning.empty()) GANDEM_LOG_WARN("{}", warning);
  return setting;
}

PipelineSetting Prefetcher::InMemory() const {
  const int64_t ahead = options_.depth * options_.StepImages();
  return {.fetches = 0,
          .workers = options_.max_workers,
          .ahead = ahead,
          .finished_ahead = ahead};
}

void Prefetcher::Apply(const PipelineSetting& setting) {
  setting_ = setting;
  setting_.workers = std::clamp(setting.workers, 1, options_.max_workers);
  board_.Set(setting);
  // One thread of each kind until the first sample shows how many are needed.
  const bool begun = board_.has_begun();
  fetchers_.Want(begun ? std::min(setting.fetches, options_.max_fetches) : 1);
  finishers_.Want(begun ? setting_.workers : 1);
}

void Prefetcher::StartThreads() {
  fetchers_.StartMissing();
  finishers_.StartMissing();
}

FeedStats Prefetcher::TakeStats() {
  absl::MutexLock lock(&mu_);
  FeedStats stats = meter_.TakeStats(options_.clock->Now());
  stats.waiting = board_.waiting();
  stats.setting = setting_;
  return stats;
}

}  // namespace gandem
