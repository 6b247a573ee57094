// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/critic_duties.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "training/objective/critic.h"

namespace gandem {

CriticDuties::CriticDuties(RoleOptions options,
                           std::shared_ptr<Discriminator> network,
                           std::shared_ptr<Discriminator> older_critic,
                           ConditionSource condition,
                           RealImageSource real_images,
                           DiscriminatorExchange* exchange,
                           const RoundGate* gate, RoundTimer* timer)
    : options_(std::move(options)),
      network_(std::move(network)),
      older_critic_(std::move(older_critic)),
      condition_(std::move(condition)),
      real_images_(std::move(real_images)),
      exchange_(exchange),
      gate_(gate),
      timer_(timer),
      real_round_(options_.first_round - 1) {
  EnterBoundary(options_.first_round);
}

absl::Status CriticDuties::Restore(const TensorReader& state) {
  kept_.clear();
  for (const NamedTensor& critic : state.WithPrefix("critic.")) {
    int64_t boundary = 0;
    if (!absl::SimpleAtoi(critic.name, &boundary) || boundary >= boundary_) {
      return absl::InvalidArgumentError(
          absl::StrCat("critic.", critic.name, " is not an older critic"));
    }
    kept_[boundary] = {
        .version = boundary * options_.schedule.discriminator_steps_per_round,
        .bytes = critic.bytes};
  }
  if (exact()) {
    for (int64_t b = options_.schedule.OldestBoundaryNeeded(boundary_);
         b < boundary_; ++b) {
      if (!kept_.contains(b)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the checkpoint lacks the critic of round ", b,
                         "; was it written with a smaller schedule.lag?"));
      }
    }
  }
  EnterBoundary(boundary_);
  return absl::OkStatus();
}

void CriticDuties::SaveOlderCritics(StateShard& state) const {
  for (const auto& [boundary, critic] : kept_) {
    if (boundary == boundary_) continue;  // it is the model
    state.Add(NamedTensor{.name = absl::StrCat("critic.", boundary),
                          .dtype = DType::kU8,
                          .shape = {static_cast<int64_t>(critic.bytes.size())},
                          .bytes = critic.bytes});
  }
}

void CriticDuties::EnterBoundary(int64_t rounds) {
  boundary_ = rounds;
  version_ = rounds * options_.schedule.discriminator_steps_per_round;
  to_publish_.clear();
  const Schedule& schedule = options_.schedule;
  const bool snapshot = schedule.feedback == FeedbackMode::kSnapshot;
  if (!exact()) return;
  // A generator that starts at first_round may need older critics first.
  if (snapshot && boundary_ == options_.first_round) {
    for (const auto& [boundary, critic] : kept_) to_publish_.push_back(critic);
  }
  const int64_t judged = schedule.LastRoundJudgedBy(boundary_);
  const bool needed = judged >= options_.first_round &&
                      judged <= std::max(gate_->last_round(), schedule.lag - 1);
  const bool kept = schedule.lag >= 2;
  if ((snapshot && needed) || kept) {
    const TraceSpan span("copy critic", {"version", version_});
    CriticState critic{.version = version_, .bytes = PackModule(*network_)};
    if (snapshot && needed) to_publish_.push_back(critic);
    if (kept) kept_[boundary_] = std::move(critic);
  }
  // A generator that is restored after boundary_ rounds needs them from here
  // on.
  kept_.erase(kept_.begin(),
              kept_.lower_bound(schedule.OldestBoundaryNeeded(boundary_)));
}

absl::Status CriticDuties::Do(absl::Time deadline) {
  if (!exact()) return ServeNewest(version_);
  return options_.schedule.feedback == FeedbackMode::kSnapshot
             ? PublishDue(deadline)
             : AnswerDue(deadline);
}

absl::Status CriticDuties::PublishDue(absl::Time deadline) {
  while (!to_publish_.empty()) {
    GANDEM_FAILPOINT("discriminator.before_publish");
    GANDEM_RETURN_IF_ERROR(timer_->Timed(RoundTimer::kFeedback, [&] {
      return exchange_->PublishCritic(to_publish_.front(), deadline);
    }));
    to_publish_.pop_front();
  }
  return absl::OkStatus();
}

int64_t CriticDuties::feedback_due() const {
  // Rounds after the last one are never asked for. At lag 0 nothing is due
  // before the first round.
  return std::min(options_.schedule.LastRoundJudgedBy(boundary_),
                  gate_->last_round());
}

absl::Status CriticDuties::AnswerDue(absl::Time deadline) {
  const Schedule& schedule = options_.schedule;
  const int64_t judged =
      ImagesJudgedBy(schedule, options_.rank, options_.fleet_size);
  while (true) {
    // Looked up each time: a cut lowers what is due.
    const int64_t due_round = feedback_due();
    if (answered_images_ >= (due_round + 1 - options_.first_round) * judged) {
      return absl::OkStatus();
    }
    GANDEM_RETURN_IF_ERROR(AnswerNext(due_round, deadline));
  }
}

absl::Status CriticDuties::AnswerNext(int64_t due_round, absl::Time deadline) {
  if (!request_.has_value()) {
    absl::StatusOr<ImageBatch> request = timer_->Timed(
        RoundTimer::kFeedback,
        [&] { return exchange_->NextFeedbackRequest(due_round, deadline); });
    GANDEM_RETURN_IF_ERROR(request.status());
    request_ = *std::move(request);
  }
  GANDEM_RETURN_IF_ERROR(TakeRealImages(request_->round, deadline));
  const ImageBatch images = *std::move(request_);
  request_.reset();
  return Answer(images);
}

absl::Status CriticDuties::TakeRealImages(int64_t round, absl::Time deadline) {
  if (!real_images_) return absl::OkStatus();
  while (real_round_ < round) {
    absl::StatusOr<RealImages> images = timer_->Timed(RoundTimer::kData, [&] {
      return real_images_(real_round_ + 1, deadline);
    });
    GANDEM_RETURN_IF_ERROR(images.status());
    real_ = *std::move(images);
    ++real_round_;
  }
  if (real_round_ == round) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("images of round ", round,
                                          " are to be judged after those "
                                          "of round ",
                                          real_round_));
}

absl::Status CriticDuties::Answer(const ImageBatch& images) {
  GANDEM_FAILPOINT("discriminator.before_answer");
  const TraceSpan span("judge", {"images", images.count});
  const Schedule& schedule = options_.schedule;
  Discriminator* critic = network_.get();
  int64_t version = version_;
  if (exact() && schedule.CriticVersion(images.round) != version_) {
    // After a restart the generator repeats rounds judged by older versions.
    const auto older = kept_.find(schedule.CriticBoundary(images.round));
    if (older == kept_.end()) {
      return absl::InternalError(absl::StrCat(
          "no critic for round ", images.round, " before round ", boundary_));
    }
    GANDEM_RETURN_IF_ERROR(UnpackModule(older->second.bytes, *older_critic_));
    critic = older_critic_.get();
    version = older->second.version;
  }
  GANDEM_ASSIGN_OR_RETURN(Condition condition,
                          ConditionOf(condition_, schedule, images));
  JudgedImages judged = {
      .images_NCHW = UnpackImages(images.pixels, images.count, images.format,
                                  options_.compute),
      .condition = std::move(condition),
      .round = images.round,
      .first_index = images.first_index};
  if (real_images_) {
    const IndexRange slice =
        RankSlice(schedule.generator_batch, options_.rank, options_.fleet_size);
    judged.real_NCHW = real_.images_NCHW.narrow(
        0, images.first_index - slice.first, images.count);
  }
  const Judgment judgment =
      JudgeImages(*critic, judged, options_.objective, schedule.generator_batch,
                  options_.compute);
  answered_images_ += images.count;
  return exchange_->AnswerFeedback(
      {.round = images.round,
       .first_index = images.first_index,
       .count = images.count,
       .critic_version = version,
       .loss = judgment.loss,
       .format = options_.sent_format,
       .gradient = PackImages(judgment.gradient_NCHW, options_.sent_format)});
}

absl::Status CriticDuties::ServeNewest(int64_t steps) {
  version_ = steps;
  if (options_.schedule.feedback == FeedbackMode::kSnapshot) {
    if (published_version_ == version_) return absl::OkStatus();
    if (to_publish_.empty() || to_publish_.back().version != version_) {
      const TraceSpan span("copy critic", {"version", version_});
      to_publish_.clear();
      to_publish_.push_back(
          {.version = version_, .bytes = PackModule(*network_)});
    }
    const absl::Status published =
        exchange_->PublishCritic(to_publish_.back(), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(published)) return absl::OkStatus();
    if (published.ok()) published_version_ = version_;
    return published;
  }
  while (true) {
    const absl::Status answered =
        AnswerNext(gate_->last_round(), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(answered)) return absl::OkStatus();
    GANDEM_RETURN_IF_ERROR(answered);
  }
}

}  // namespace gandem
