// SPDX-License-Identifier: Apache-2.0
#include "exchange/in_process_exchange.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/monotonic_time.h"
#include "common/status.h"
#include "exchange/generator_inbox.h"

namespace gandem {
namespace {

// Shared with the listener, which may briefly outlive the exchange.
class Link {
 public:
  Link(const ExchangeOptions& options, DiscriminatorEnd* end)
      : rank_(options.rank), end_(end), inbox_(options) {}

  GeneratorInbox& inbox() { return inbox_; }

  // Transfers everything that has arrived and has room. All steps are
  // idempotent, so two threads may call it at once.
  void Move() {
    const absl::Status status = end_->status();
    if (!status.ok()) inbox_.Close(status);
    while (std::optional<FeedbackBook::Numbered> next =
               end_->NextAnswer(rank_, 0)) {
      const int64_t round = next->answer.round;
      const int64_t first_index = next->answer.first_index;
      const absl::Status added = inbox_.AddFeedback(std::move(next->answer));
      if (!added.ok()) inbox_.Close(added);
      end_->AcknowledgeAnswer(rank_, round, first_index);
    }
    while (const std::optional<CriticState> critic =
               end_->NextCritic(rank_, inbox_.newest_critic_version())) {
      if (!inbox_.OfferCritic(*critic)) break;
      end_->AcknowledgeCritic(rank_, critic->version);
    }
    CountChange();
  }

  // Waits until the discriminator has accepted the batch.
  absl::Status Put(const ImageBatch& batch, absl::Time deadline) {
    for (;;) {
      GANDEM_RETURN_IF_ERROR(inbox_.status());
      const int64_t seen = changes();
      GANDEM_ASSIGN_OR_RETURN(const bool accepted,
                              end_->OfferImages(rank_, batch));
      if (accepted) return absl::OkStatus();
      absl::MutexLock lock(&mu_);
      const auto changed = [this, seen]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
        return changes_ != seen;
      };
      if (!AwaitUntil(&mu_, absl::Condition(&changed), deadline)) {
        return absl::DeadlineExceededError("waiting for room in the cache");
      }
    }
  }

  void CountChange() {
    absl::MutexLock lock(&mu_);
    ++changes_;
  }

 private:
  int64_t changes() {
    absl::MutexLock lock(&mu_);
    return changes_;
  }

  const int rank_;
  DiscriminatorEnd* const end_;
  GeneratorInbox inbox_;
  absl::Mutex mu_;
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;
};

class InProcessGenerator : public GeneratorExchange {
 public:
  InProcessGenerator(const ExchangeOptions& options, DiscriminatorEnd* end)
      : options_(options),
        end_(end),
        link_(std::make_shared<Link>(options, end)) {
    end_->SetListener([link = link_] { link->Move(); });
    link_->Move();
  }
  ~InProcessGenerator() override { end_->SetListener({}); }

  absl::Status PutImages(const ImageBatch& batch,
                         absl::Time deadline) override {
    GANDEM_RETURN_IF_ERROR(CheckImageBatch(options_, batch));
    if (IsAnswered(batch.use)) link_->inbox().ExpectFeedback(batch);
    return link_->Put(batch, deadline);
  }

  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline) override {
    return link_->inbox().TakeFeedback(round, first_index, deadline);
  }

  absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                         absl::Time deadline) override {
    return link_->inbox().TakeCritic(version, deadline,
                                     [this] { link_->Move(); });
  }

  absl::Status Finish(absl::Time) override {
    GANDEM_RETURN_IF_ERROR(link_->inbox().status());
    link_->inbox().Drain();
    link_->Move();
    return end_->FinishGenerator(options_.rank, /*is_confirmed=*/true);
  }

  int64_t messages_damaged() const override { return 0; }

  void Close(absl::Status reason) override {
    link_->inbox().Close(std::move(reason));
    link_->CountChange();
  }

 private:
  const ExchangeOptions options_;
  DiscriminatorEnd* const end_;
  const std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<GeneratorExchange> CreateInProcessGenerator(
    const ExchangeOptions& options, DiscriminatorEnd* end) {
  return std::make_unique<InProcessGenerator>(options, end);
}

}  // namespace gandem
