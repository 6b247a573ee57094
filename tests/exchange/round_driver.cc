// SPDX-License-Identifier: Apache-2.0
#include "tests/exchange/round_driver.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "exchange/schedule.h"
#include "tests/exchange/exchange_testing.h"

namespace gandem::testing {
namespace {

ImageUse StepUse(const Schedule& schedule) {
  if (schedule.feedback == FeedbackMode::kSnapshot) return ImageUse::kTrain;
  return schedule.image_source == ImageSource::kReused ? ImageUse::kBoth
                                                       : ImageUse::kFeedback;
}

absl::Status CheckBytes(std::span<const std::byte> got,
                        std::span<const std::byte> wanted,
                        absl::string_view what) {
  if (std::equal(got.begin(), got.end(), wanted.begin(), wanted.end())) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("wrong bytes in ", what));
}

bool IsExact(const ExchangeOptions& options) {
  return options.schedule.consistency == Consistency::kExact;
}

}  // namespace

GeneratorDriver::GeneratorDriver(const ExchangeOptions& options,
                                 int64_t last_round,
                                 GeneratorExchange* exchange)
    : options_(options),
      last_round_(last_round),
      exchange_(exchange),
      round_(options.first_round),
      ops_(GeneratorRound(options.schedule, round_, 0, 1)) {}

absl::StatusOr<bool> GeneratorDriver::Advance(absl::Time deadline) {
  if (round_ > last_round_) {
    GANDEM_RETURN_IF_ERROR(exchange_->Finish(deadline));
    return false;
  }
  GANDEM_RETURN_IF_ERROR(Run(ops_[next_op_], deadline));
  if (++next_op_ == ops_.size()) {
    next_op_ = 0;
    ops_ = GeneratorRound(options_.schedule, ++round_, 0, 1);
  }
  return true;
}

absl::Status GeneratorDriver::Run(const GeneratorOp& op, absl::Time deadline) {
  const Schedule& schedule = options_.schedule;
  switch (op.kind) {
    case GeneratorOp::Kind::kSendImages:
      return exchange_->PutImages(
          Images(round_, op.range.first, op.range.count), deadline);
    case GeneratorOp::Kind::kSendForward:
      return exchange_->PutImages(
          Images(round_, op.range.first, op.range.count, StepUse(schedule)),
          deadline);
    case GeneratorOp::Kind::kTakeCritic: {
      GANDEM_ASSIGN_OR_RETURN(
          const CriticState critic,
          exchange_->TakeCritic(op.critic_version, deadline));
      if (critic.version < op.critic_version ||
          (IsExact(options_) && critic.version != op.critic_version)) {
        return absl::DataLossError("wrong critic");
      }
      return CheckBytes(critic.bytes.span(),
                        Critic(critic.version).bytes.span(), "critic");
    }
    case GeneratorOp::Kind::kTakeFeedback: {
      GANDEM_ASSIGN_OR_RETURN(
          const FeedbackBatch feedback,
          exchange_->TakeFeedback(round_, op.range.first, deadline));
      const FeedbackBatch wanted =
          Feedback(schedule, round_, op.range.first, op.range.count);
      if (feedback.count != wanted.count || feedback.loss != wanted.loss) {
        return absl::DataLossError("wrong feedback");
      }
      return CheckBytes(feedback.gradient.span(), wanted.gradient.span(),
                        "feedback");
    }
    case GeneratorOp::Kind::kMakeImages:
    case GeneratorOp::Kind::kForward:
    case GeneratorOp::Kind::kBackward:
    case GeneratorOp::Kind::kUpdate:
      break;
  }
  return absl::OkStatus();
}

DiscriminatorDriver::DiscriminatorDriver(const ExchangeOptions& options,
                                         int64_t last_round,
                                         DiscriminatorExchange* exchange)
    : options_(options),
      last_round_(last_round),
      exchange_(exchange),
      round_(options.first_round),
      ops_(DiscriminatorRound(options.schedule, 0, 1)),
      // A resumed run publishes the older critics of its checkpoint first.
      next_boundary_(options.schedule.CriticBoundary(round_)),
      judged_until_(options.first_round - 1) {}

absl::StatusOr<bool> DiscriminatorDriver::Advance(absl::Time deadline) {
  if (next_op_ == 0) {
    GANDEM_ASSIGN_OR_RETURN(const bool served, ServeBoundary(deadline));
    if (!served) return true;
    if (round_ > last_round_) {
      GANDEM_ASSIGN_OR_RETURN(const WaitEnd end,
                              exchange_->WaitForGenerators(deadline));
      return end == WaitEnd::kAsked;
    }
  }
  const DiscriminatorOp& op = ops_[next_op_];
  if (op.kind == DiscriminatorOp::Kind::kTake) {
    GANDEM_RETURN_IF_ERROR(IsExact(options_) ? Take(op, deadline)
                                             : TakeOrJudge(op, deadline));
  }
  if (op.kind == DiscriminatorOp::Kind::kGenerated &&
      options_.schedule.JudgesInTraining()) {
    GANDEM_RETURN_IF_ERROR(JudgeTrained(op.range.end()));
  }
  if (++next_op_ == ops_.size()) {
    next_op_ = 0;
    exchange_->FinishRound(round_++);
  }
  return true;
}

absl::Status DiscriminatorDriver::TakeOrJudge(const DiscriminatorOp& op,
                                              absl::Time deadline) {
  const absl::Status taken = Take(op, absl::InfinitePast());
  if (!absl::IsDeadlineExceeded(taken)) return taken;
  GANDEM_RETURN_IF_ERROR(JudgeWhatIsThere());
  return Take(op, deadline);
}

absl::Status DiscriminatorDriver::JudgeWhatIsThere() {
  for (;;) {
    const absl::StatusOr<ImageBatch> images = exchange_->NextFeedbackRequest(
        options_.schedule.LastRoundJudgedBy(round_), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(images.status())) return absl::OkStatus();
    GANDEM_RETURN_IF_ERROR(images.status());
    GANDEM_RETURN_IF_ERROR(Judge(*images));
  }
}

absl::Status DiscriminatorDriver::JudgeTrained(int64_t end) {
  for (;;) {
    absl::StatusOr<ImageBatch> request =
        exchange_->NextFeedbackRequest(round_, absl::InfinitePast());
    if (absl::IsDeadlineExceeded(request.status())) break;
    GANDEM_RETURN_IF_ERROR(request.status());
    requests_.push_back(*std::move(request));
  }
  for (auto request = requests_.begin(); request != requests_.end();) {
    if (request->range().end() > end) {
      ++request;
      continue;
    }
    GANDEM_RETURN_IF_ERROR(Judge(*request));
    images_to_judge_ -= request->count;
    request = requests_.erase(request);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> DiscriminatorDriver::ServeBoundary(absl::Time deadline) {
  const Schedule& schedule = options_.schedule;
  if (schedule.feedback == FeedbackMode::kSnapshot) {
    if (next_boundary_ > round_) return true;
    const int64_t version =
        next_boundary_ * schedule.discriminator_steps_per_round;
    GANDEM_RETURN_IF_ERROR(exchange_->PublishCritic(Critic(version), deadline));
    ++next_boundary_;
    return false;
  }
  if (!IsExact(options_)) {
    GANDEM_RETURN_IF_ERROR(JudgeWhatIsThere());
    return true;
  }
  // With FUSED, judges the rest of the ended round.
  const int64_t due =
      schedule.JudgesInTraining()
          ? round_ - 1
          : std::min(schedule.LastRoundJudgedBy(round_), last_round_);
  if (due > judged_until_) {
    images_to_judge_ += (due - judged_until_) * schedule.generator_batch;
    judged_until_ = due;
  }
  if (images_to_judge_ == 0) return true;
  GANDEM_ASSIGN_OR_RETURN(const ImageBatch images,
                          exchange_->NextFeedbackRequest(due, deadline));
  GANDEM_RETURN_IF_ERROR(Judge(images));
  images_to_judge_ -= images.count;
  return false;
}

absl::Status DiscriminatorDriver::Judge(const ImageBatch& images) {
  GANDEM_RETURN_IF_ERROR(CheckBytes(
      images.pixels.span(),
      Images(images.round, images.first_index, images.count).pixels.span(),
      "images to judge"));
  const Schedule& schedule = options_.schedule;
  FeedbackBatch answer =
      Feedback(schedule, images.round, images.first_index, images.count);
  if (!IsExact(options_)) {
    answer.critic_version = round_ * schedule.discriminator_steps_per_round;
  }
  return exchange_->AnswerFeedback(std::move(answer));
}

absl::Status DiscriminatorDriver::Take(const DiscriminatorOp& op,
                                       absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(
      const TakenImages taken,
      exchange_->TakeImages(round_, op.range.first, op.range.count, deadline));
  if (taken.end == WaitEnd::kAsked) {
    return absl::DeadlineExceededError("images to judge have arrived");
  }
  const auto places = Places(taken.pieces);
  if (static_cast<int64_t>(places.size()) != op.range.count) {
    return absl::DataLossError("wrong number of images");
  }
  for (int64_t i = 0; i < op.range.count; ++i) {
    if (places[i].second < 0 ||
        (IsExact(options_) &&
         places[i] != std::pair(round_, op.range.first + i))) {
      return absl::DataLossError("wrong image");
    }
  }
  images_trained_ += op.range.count;
  return absl::OkStatus();
}

namespace {

template <typename Driver>
absl::Status DriveToEnd(Driver& driver, absl::Duration poll,
                        std::atomic<bool>& failed) {
  while (!failed) {
    const absl::StatusOr<bool> more = driver.Advance(absl::Now() + poll);
    if (absl::IsDeadlineExceeded(more.status())) continue;
    if (!more.ok()) failed = true;
    if (!more.ok() || !*more) return more.status();
  }
  return absl::CancelledError("the other side failed");
}

}  // namespace

absl::Status RunBoth(GeneratorDriver& generator,
                     DiscriminatorDriver& discriminator, absl::Duration poll) {
  std::atomic<bool> failed = false;
  absl::Status generator_status;
  std::thread thread(
      [&] { generator_status = DriveToEnd(generator, poll, failed); });
  const absl::Status discriminator_status =
      DriveToEnd(discriminator, poll, failed);
  thread.join();
  if (absl::IsCancelled(generator_status)) {
    return Annotate(discriminator_status, "discriminator");
  }
  GANDEM_RETURN_IF_ERROR(Annotate(generator_status, "generator"));
  return Annotate(discriminator_status, "discriminator");
}

}  // namespace gandem::testing
