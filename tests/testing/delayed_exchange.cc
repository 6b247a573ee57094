// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/delayed_exchange.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "common/status.h"

namespace gandem::testing {
namespace {

class Delays {
 public:
  explicit Delays(const DelayOptions& options) : options_(options) {}

  // Returns DEADLINE_EXCEEDED if the call is refused this time.
  absl::Status Pass(absl::Time deadline) {
    if (refusals_left_ < 0) {
      refusals_left_ = Draw() % (options_.max_refusals + 1);
    }
    if (refusals_left_-- > 0) {
      return absl::DeadlineExceededError("refused by the test");
    }
    refusals_left_ = -1;
    Wait(deadline);
    return absl::OkStatus();
  }

  void Wait(absl::Time deadline) {
    // Half of the calls wait, so that both orders occur.
    if (options_.max_wait <= absl::ZeroDuration() || Draw() % 2 == 0) return;
    const absl::Time until =
        absl::Now() + options_.max_wait * ((Draw() % 1000) / 1000.0);
    absl::SleepFor(std::min(until, deadline) - absl::Now());
  }

 private:
  // Returns SplitMix64 (Steele et al. 2014) of seed and draw number.
  int64_t Draw() {
    uint64_t z = options_.seed + ++draws_ * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int64_t>((z ^ (z >> 31)) >> 1);
  }

  const DelayOptions options_;
  uint64_t draws_ = 0;
  int64_t refusals_left_ = -1;  // of the current call; -1: not drawn
};

class DelayedGenerator : public GeneratorExchange {
 public:
  DelayedGenerator(GeneratorExchange* below, const DelayOptions& options)
      : below_(below), delays_(options) {}

  absl::Status PutImages(const ImageBatch& batch,
                         absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->PutImages(batch, deadline);
  }
  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->TakeFeedback(round, first_index, deadline);
  }
  absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                         absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->TakeCritic(version, deadline);
  }
  absl::Status Finish(absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->Finish(deadline);
  }
  int64_t messages_damaged() const override {
    return below_->messages_damaged();
  }
  void Close(absl::Status reason) override { below_->Close(std::move(reason)); }

 private:
  GeneratorExchange* const below_;
  Delays delays_;
};

class DelayedDiscriminator : public DiscriminatorExchange {
 public:
  DelayedDiscriminator(DiscriminatorExchange* below,
                       const DelayOptions& options)
      : below_(below), delays_(options) {}

  absl::StatusOr<TakenImages> TakeImages(int64_t round, int64_t first,
                                         int64_t count,
                                         absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->TakeImages(round, first, count, deadline);
  }
  void FinishRound(int64_t round) override {
    delays_.Wait(absl::InfiniteFuture());
    below_->FinishRound(round);
  }
  absl::StatusOr<ImageBatch> NextFeedbackRequest(int64_t last_round,
                                                 absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->NextFeedbackRequest(last_round, deadline);
  }
  absl::Status AnswerFeedback(FeedbackBatch answer) override {
    delays_.Wait(absl::InfiniteFuture());
    return below_->AnswerFeedback(std::move(answer));
  }
  absl::Status PublishCritic(CriticState critic, absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->PublishCritic(std::move(critic), deadline);
  }
  absl::StatusOr<WaitEnd> WaitForGenerators(absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(delays_.Pass(deadline));
    return below_->WaitForGenerators(deadline);
  }
  ExchangeStats stats() const override { return below_->stats(); }
  void Close(absl::Status reason) override { below_->Close(std::move(reason)); }

 private:
  DiscriminatorExchange* const below_;
  Delays delays_;
};

}  // namespace

std::unique_ptr<GeneratorExchange> DelayGenerator(GeneratorExchange* below,
                                                  const DelayOptions& options) {
  return std::make_unique<DelayedGenerator>(below, options);
}

std::unique_ptr<DiscriminatorExchange> DelayDiscriminator(
    DiscriminatorExchange* below, const DelayOptions& options) {
  return std::make_unique<DelayedDiscriminator>(below, options);
}

}  // namespace gandem::testing
