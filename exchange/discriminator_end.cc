// SPDX-License-Identifier: Apache-2.0
#include "exchange/discriminator_end.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "exchange/fleet_exchange.h"

namespace gandem {
namespace {

ImageCache::Options CacheOptions(const ExchangeOptions& options) {
  return {.max_images = options.CacheImages(),
          .max_bytes = options.cache_bytes,
          .max_samples_per_image = options.max_samples_per_image,
          .max_age = MaxImageAge(options.schedule)};
}

}  // namespace

DiscriminatorEnd::DiscriminatorEnd(const ExchangeOptions& options)
    : options_(options),
      ledger_(options.schedule, options.first_round),
      cache_(CacheOptions(options)),
      feedback_(options.num_generators),
      critic_(options.schedule.consistency, options.num_generators),
      finish_(options.num_generators, absl::InfiniteFuture()) {
  for (int rank = 0; rank < options.num_generators; ++rank) {
    // Nothing is awaited from a rank that does not connect.
    if (!PartnersOf(options.schedule, rank, options.num_generators,
                    options.num_discriminators)[options.rank]) {
      finish_[rank] = absl::InfinitePast();
    }
    // Other discriminators provide this generator's critics.
    if (CriticSource(rank, options.num_generators,
                     options.num_discriminators) != options.rank) {
      critic_.Release(rank);
    }
  }
}

template <typename Attempt>
absl::Status DiscriminatorEnd::WaitUntil(const char* what, Attempt attempt,
                                         absl::Time deadline) {
  for (bool first = true;; first = false) {
    int64_t seen = 0;
    {
      absl::MutexLock lock(&mu_);
      if (!closed_.ok()) return closed_;
      if (attempt()) break;
      seen = changes_;
    }
    // The transport may hold the missing data, which now has room.
    if (first) Notify();
    absl::MutexLock lock(&mu_);
    const auto changed = [this, seen]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return changes_ != seen || !closed_.ok();
    };
    if (!AwaitUntil(&mu_, absl::Condition(&changed), deadline)) {
      return absl::DeadlineExceededError(what);
    }
  }
  Notify();
  return absl::OkStatus();
}

void DiscriminatorEnd::Notify() {
  std::function<void()> listener;
  {
    absl::MutexLock lock(&mu_);
    listener = listener_;
  }
  if (listener) listener();
}

void DiscriminatorEnd::AdvanceTo(int64_t round) {
  if (round <= ledger_.oldest_unfinished()) return;
  ledger_.Advance(round);
  cache_.DropBefore(IsExact() ? round
                              : round - MaxImageAge(options_.schedule) + 1);
}

void DiscriminatorEnd::AdvanceToVersion(int64_t version) {
  AdvanceTo(version / options_.schedule.discriminator_steps_per_round);
}

absl::Status DiscriminatorEnd::CheckTaking(int64_t first, int64_t count) const {
  const int64_t in_round = options_.schedule.TrainImagesPerRound();
  if (IsExact() && (first < 0 || count < 1 || first + count > in_round)) {
    return absl::InvalidArgumentError(
        absl::StrCat("images [", first, ", ", first + count,
                     ") are not within the round's [0, ", in_round, ")"));
  }
  if (!IsExact() && (count < 1 || count > options_.CacheImages())) {
    return absl::InvalidArgumentError(
        absl::StrCat("count ", count, " is not in [1, ", options_.CacheImages(),
                     "], the size of the cache"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TakenImages> DiscriminatorEnd::TakeImages(int64_t round,
                                                         int64_t first,
                                                         int64_t count,
                                                         absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(CheckTaking(first, count));
  absl::StatusOr<std::vector<ImageBatch>> taken;
  const auto attempt = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    taken = IsExact() ? cache_.Take(round, first, count)
                      : cache_.TakeNext(round, count);
    if (taken.ok() && taken->empty()) {
      waits_for_ = IsExact()
                       ? MakerOf(options_.schedule, cache_.first_missing(),
                                 options_.num_generators)
                       : AnyGenerator();
    }
    return !taken.ok() || !taken->empty() || IsAskedForFeedback();
  };
  GANDEM_RETURN_IF_ERROR(
      WaitUntil("waiting for generated images", attempt, deadline));
  GANDEM_RETURN_IF_ERROR(taken.status());
  return TakenImages{.end = taken->empty() ? WaitEnd::kAsked : WaitEnd::kDone,
                     .pieces = *std::move(taken)};
}

void DiscriminatorEnd::FinishRound(int64_t round) {
  {
    absl::MutexLock lock(&mu_);
    AdvanceTo(round + 1);
  }
  Notify();
}

absl::StatusOr<ImageBatch> DiscriminatorEnd::NextFeedbackRequest(
    int64_t last_round, absl::Time deadline) {
  std::optional<ImageBatch> request;
  const auto attempt = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    // Another round may be completed during this wait.
    const int64_t last =
        IsExact() ? last_round
                  : std::min(last_round, options_.schedule.LastRoundJudgedBy(
                                             ledger_.oldest_unfinished()));
    wanted_feedback_round_ = std::max(wanted_feedback_round_, last);
    request = feedback_.NextRequest(last);
    waits_for_ = AnyGenerator();
    return request.has_value();
  };
  GANDEM_RETURN_IF_ERROR(
      WaitUntil("waiting for images to judge", attempt, deadline));
  return *std::move(request);
}

absl::Status DiscriminatorEnd::AnswerFeedback(FeedbackBatch answer) {
  GANDEM_RETURN_IF_ERROR(CheckFeedbackBatch(options_, answer));
  GANDEM_FAILPOINT("exchange.before_answer");
  {
    absl::MutexLock lock(&mu_);
    if (!closed_.ok()) return closed_;
    const int64_t version = answer.critic_version;
    GANDEM_RETURN_IF_ERROR(feedback_.Answer(std::move(answer)));
    AdvanceToVersion(version);
  }
  Notify();
  GANDEM_FAILPOINT("exchange.after_answer");
  return absl::OkStatus();
}

absl::Status DiscriminatorEnd::PublishCritic(CriticState critic,
                                             absl::Time deadline) {
  absl::Status published;
  const auto attempt = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    waits_for_ = critic_.Lacking();
    if (!critic_.MayPublish()) return false;
    GANDEM_FAILPOINT("exchange.before_publish");
    const int64_t version = critic.version;
    published = critic_.Publish(std::move(critic));
    if (published.ok()) AdvanceToVersion(version);
    return true;
  };
  GANDEM_RETURN_IF_ERROR(
      WaitUntil("waiting for the generators to have the critic before", attempt,
                deadline));
  GANDEM_FAILPOINT("exchange.after_publish");
  return published;
}

absl::StatusOr<WaitEnd> DiscriminatorEnd::WaitForGenerators(
    absl::Time deadline) {
  absl::Time last_finish = absl::InfiniteFuture();
  for (;;) {
    bool is_asked = false;
    const auto attempt = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      const absl::Time before =
          std::exchange(last_finish, std::ranges::max(finish_));
      is_asked = IsAskedForFeedback();
      return is_asked || last_finish <= MonotonicNow() || last_finish != before;
    };
    // finish_grace may pass without any other change.
    const absl::Status waited =
        WaitUntil("waiting for the generators to finish", attempt,
                  std::min(deadline, last_finish));
    if (!waited.ok() && !absl::IsDeadlineExceeded(waited)) return waited;
    if (is_asked) return WaitEnd::kAsked;
    const absl::Time now = MonotonicNow();
    if (last_finish <= now) return WaitEnd::kDone;
    if (!waited.ok() && deadline <= now) return waited;
  }
}

int DiscriminatorEnd::waits_for() const {
  absl::MutexLock lock(&mu_);
  return waits_for_;
}

ExchangeStats DiscriminatorEnd::stats() const {
  absl::MutexLock lock(&mu_);
  const ImageCache::Stats& cache = cache_.stats();
  return {.cache_images = cache.images,
          .cache_capacity = options_.CacheImages(),
          .images_dropped = cache.dropped,
          .images_replayed = cache.replayed};
}

void DiscriminatorEnd::Close(absl::Status reason) {
  GANDEM_CHECK(!reason.ok());
  {
    absl::MutexLock lock(&mu_);
    if (closed_.ok()) closed_ = std::move(reason);
  }
  Notify();
}

bool DiscriminatorEnd::IsAskedForFeedback() const {
  return !IsExact() && feedback_.HasRequest(options_.schedule.LastRoundJudgedBy(
                           ledger_.oldest_unfinished()));
}

bool DiscriminatorEnd::HasRoom(const ImageBatch& batch) const {
  return !NeedsRoom(batch.use, batch.round, wanted_feedback_round_) ||
         cache_.HasRoom(batch);
}

absl::StatusOr<bool> DiscriminatorEnd::OfferImages(int rank,
                                                   const ImageBatch& batch) {
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, rank));
  GANDEM_RETURN_IF_ERROR(CheckImageBatch(options_, batch));
  absl::MutexLock lock(&mu_);
  if (!closed_.ok()) return closed_;
  if (finish_[rank] < absl::InfiniteFuture()) {
    return absl::FailedPreconditionError(
        absl::StrCat("generator ", rank, " said that it has finished"));
  }
  const int64_t newest = ledger_.newest_accepted();
  if (batch.round > newest &&
      batch.round <= newest + options_.discriminator_skew) {
    return false;
  }
  GANDEM_ASSIGN_OR_RETURN(const ImageLedger::Verdict verdict,
                          ledger_.Check(batch));
  if (verdict == ImageLedger::Verdict::kRepeat) return true;
  if (!HasRoom(batch)) return false;
  ledger_.Record(batch);
  if (IsTrained(batch.use)) cache_.Add(batch);
  if (IsAnswered(batch.use)) feedback_.AddRequest(rank, batch);
  ++changes_;
  GANDEM_FAILPOINT("exchange.images_received");
  return true;
}

absl::Status DiscriminatorEnd::FinishGenerator(int rank, bool is_confirmed) {
  GANDEM_RETURN_IF_ERROR(CheckGeneratorRank(options_, rank));
  absl::MutexLock lock(&mu_);
  if (!closed_.ok()) return closed_;
  finish_[rank] =
      is_confirmed
          ? absl::InfinitePast()
          : std::min(finish_[rank], MonotonicNow() + options_.finish_grace);
  critic_.Release(rank);
  ++changes_;
  return absl::OkStatus();
}

std::optional<FeedbackBook::Numbered> DiscriminatorEnd::NextAnswer(
    int rank, int64_t after) {
  absl::MutexLock lock(&mu_);
  return feedback_.NextAnswer(rank, after);
}

void DiscriminatorEnd::AcknowledgeAnswer(int rank, int64_t round,
                                         int64_t first_index) {
  absl::MutexLock lock(&mu_);
  feedback_.Acknowledge(rank, round, first_index);
}

absl::Status DiscriminatorEnd::OpenCritics(int rank, int64_t version) {
  absl::MutexLock lock(&mu_);
  ++changes_;
  return critic_.Open(rank, version);
}

std::optional<CriticState> DiscriminatorEnd::NextCritic(int rank,
                                                        int64_t after) {
  absl::MutexLock lock(&mu_);
  return critic_.Next(rank, after);
}

void DiscriminatorEnd::AcknowledgeCritic(int rank, int64_t version) {
  absl::MutexLock lock(&mu_);
  critic_.Acknowledge(rank, version);
  ++changes_;
}

absl::Status DiscriminatorEnd::status() const {
  absl::MutexLock lock(&mu_);
  return closed_;
}

void DiscriminatorEnd::SetListener(std::function<void()> listener) {
  absl::MutexLock lock(&mu_);
  listener_ = std::move(listener);
}

}  // namespace gandem
