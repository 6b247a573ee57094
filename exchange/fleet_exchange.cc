// SPDX-License-Identifier: Apache-2.0
#include "exchange/fleet_exchange.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace gandem {
namespace {

class FleetExchange : public GeneratorExchange {
 public:
  FleetExchange(const ExchangeOptions& options,
                std::vector<std::unique_ptr<GeneratorExchange>> ends)
      : options_(options), ends_(std::move(ends)) {
    GANDEM_CHECK(std::cmp_equal(ends_.size(), options_.num_discriminators));
  }

  absl::Status PutImages(const ImageBatch& batch,
                         absl::Time deadline) override {
    const PutKey key(batch.use, batch.round, batch.first_index);
    if (putting_ != key) {
      putting_ = key;
      parts_ = Split(batch);
      num_put_ = 0;
    }
    for (; num_put_ < parts_.size(); ++num_put_) {
      const auto& [rank, range] = parts_[num_put_];
      waits_for_ = rank;
      GANDEM_RETURN_IF_ERROR(
          ends_[rank]->PutImages(batch.Cut(range), deadline));
    }
    if (IsAnswered(batch.use)) {
      asked_[{batch.round, batch.first_index}] = {.parts = std::move(parts_)};
    }
    putting_.reset();
    return absl::OkStatus();
  }

  absl::StatusOr<FeedbackBatch> TakeFeedback(int64_t round, int64_t first_index,
                                             absl::Time deadline) override {
    const auto asked = asked_.find({round, first_index});
    if (asked == asked_.end()) {
      return absl::InternalError(absl::StrCat(
          "nobody was asked about image ", first_index, " of round ", round));
    }
    Question& question = asked->second;
    while (question.answers.size() < question.parts.size()) {
      const RankedRange& part = question.parts[question.answers.size()];
      waits_for_ = part.rank;
      GANDEM_ASSIGN_OR_RETURN(
          FeedbackBatch answer,
          ends_[part.rank]->TakeFeedback(round, part.range.first, deadline));
      question.answers.push_back(std::move(answer));
    }
    FeedbackBatch whole = Join(std::move(question.answers));
    asked_.erase(asked);
    return whole;
  }

  absl::StatusOr<CriticState> TakeCritic(int64_t version,
                                         absl::Time deadline) override {
    const int source = CriticSource(options_.rank, options_.num_generators,
                                    options_.num_discriminators);
    waits_for_ = source;
    return ends_[source]->TakeCritic(version, deadline);
  }

  int64_t messages_damaged() const override {
    int64_t sum = 0;
    for (const auto& end : ends_) {
      if (end != nullptr) sum += end->messages_damaged();
    }
    return sum;
  }

  int waits_for() const override { return waits_for_; }

  absl::Status Finish(absl::Time deadline) override {
    for (; num_finished_ < ends_.size(); ++num_finished_) {
      if (ends_[num_finished_] == nullptr) continue;
      waits_for_ = static_cast<int>(num_finished_);
      GANDEM_RETURN_IF_ERROR(ends_[num_finished_]->Finish(deadline));
    }
    return absl::OkStatus();
  }

  void Close(absl::Status reason) override {
    for (const auto& end : ends_) {
      if (end != nullptr) end->Close(reason);
    }
  }

 private:
  using PutKey = std::tuple<ImageUse, int64_t, int64_t>;
  // A micro-batch waiting for feedback.
  struct Question {
    std::vector<RankedRange> parts = {};
    std::vector<FeedbackBatch> answers = {};  // to the first parts
  };

  std::vector<RankedRange> Split(const ImageBatch& batch) const {
    // Images for both uses go to the rank that both trains on and judges them.
    return batch.use == ImageUse::kFeedback
               ? SplitByJudge(options_.schedule, batch.range(),
                              options_.num_discriminators)
               : SplitByTrainer(options_.schedule, batch.range(),
                                options_.num_discriminators);
  }

  static FeedbackBatch Join(std::vector<FeedbackBatch> answers) {
    FeedbackBatch whole = std::move(answers.front());
    if (answers.size() == 1) return whole;
    std::vector<std::byte> gradient(whole.gradient.span().begin(),
                                    whole.gradient.span().end());
    for (size_t i = 1; i < answers.size(); ++i) {
      const FeedbackBatch& answer = answers[i];
      gradient.insert(gradient.end(), answer.gradient.span().begin(),
                      answer.gradient.span().end());
      whole.count += answer.count;
      whole.loss += answer.loss;
      whole.critic_version =
          std::min(whole.critic_version, answer.critic_version);
    }
    whole.gradient = SharedBytes(std::move(gradient));
    return whole;
  }

  const ExchangeOptions options_;
  const std::vector<std::unique_ptr<GeneratorExchange>> ends_;
  // Parts of an unfinished PutImages.
  std::optional<PutKey> putting_;
  std::vector<RankedRange> parts_;
  size_t num_put_ = 0;
  std::map<std::pair<int64_t, int64_t>, Question> asked_;
  size_t num_finished_ = 0;
  int waits_for_ = 0;
};

}  // namespace

std::vector<bool> PartnersOf(const Schedule& schedule, int rank, int size,
                             int num_discriminators) {
  std::vector<bool> partners(num_discriminators, false);
  if (!schedule.AnswersImages()) {
    partners[CriticSource(rank, size, num_discriminators)] = true;
  }
  // All rounds send the same images.
  for (const GeneratorOp& op : GeneratorRound(schedule, 0, rank, size)) {
    const bool is_step = op.kind == GeneratorOp::Kind::kSendForward;
    if (!is_step && op.kind != GeneratorOp::Kind::kSendImages) continue;
    const bool is_judged =
        is_step && schedule.StepImageUse() == ImageUse::kFeedback;
    for (const RankedRange& part :
         is_judged ? SplitByJudge(schedule, op.range, num_discriminators)
                   : SplitByTrainer(schedule, op.range, num_discriminators)) {
      partners[part.rank] = true;
    }
  }
  return partners;
}

std::unique_ptr<GeneratorExchange> CreateFleetExchange(
    const ExchangeOptions& options,
    std::vector<std::unique_ptr<GeneratorExchange>> ends) {
  return std::make_unique<FleetExchange>(options, std::move(ends));
}

}  // namespace gandem
