// SPDX-License-Identifier: Apache-2.0
#include "training/discriminator_role.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/status.h"
#include "training/critic.h"
#include "training/gradients.h"

namespace gandem {
namespace {

// How long a waiting BOUNDED discriminator sleeps before it looks whether
// somebody wants its present version.
constexpr absl::Duration kServeInterval = absl::Milliseconds(5);

}  // namespace

using Kind = DiscriminatorOp::Kind;

DiscriminatorRole::DiscriminatorRole(Options options, Parts parts,
                                     DiscriminatorExchange* exchange,
                                     RoleServices services)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      exchange_(exchange),
      services_(std::move(services)),
      round_(options_.first_round),
      version_(round_ * options_.schedule.discriminator_steps_per_round),
      saved_rounds_(round_) {
  EnterBoundary();
}

absl::Status DiscriminatorRole::Restore(const TensorReader& state) {
  GANDEM_RETURN_IF_ERROR(state.Load("model.", StateOf(*parts_.network)));
  GANDEM_RETURN_IF_ERROR(state.Load("optimizer.", parts_.optimizer->State()));
  older_.clear();
  for (const NamedTensor& critic : state.WithPrefix("critic.")) {
    int64_t boundary = 0;
    if (!absl::SimpleAtoi(critic.name, &boundary) || boundary >= round_) {
      return absl::InvalidArgumentError(
          absl::StrCat("critic.", critic.name, " is not an older critic"));
    }
    older_[boundary] = {
        .version = boundary * options_.schedule.discriminator_steps_per_round,
        .bytes = critic.bytes};
  }
  if (exact()) {
    for (int64_t b = options_.schedule.OldestBoundaryNeeded(round_); b < round_;
         ++b) {
      if (!older_.contains(b)) {
        return absl::InvalidArgumentError(
            absl::StrCat("the checkpoint lacks the critic of round ", b,
                         "; was it written with a smaller schedule.lag?"));
      }
    }
  }
  EnterBoundary();
  return absl::OkStatus();
}

std::string DiscriminatorRole::Position() const {
  switch (phase_) {
    case Phase::kPublish:
      return absl::StrCat("discriminator publishes after round ", round_ - 1);
    case Phase::kAnswer:
      return absl::StrCat("discriminator answers feedback up to round ",
                          FeedbackDue(), " before round ", round_);
    case Phase::kGate:
    case Phase::kLeave:
      return absl::StrCat("discriminator before round ", round_);
    case Phase::kTrain:
      break;
  }
  const DiscriminatorOp& op = ops_[next_op_];
  return absl::StrCat("discriminator in round ", round_, " step ", op.step,
                      op.kind == Kind::kTake ? " wants image " : " at image ",
                      op.range.first);
}

absl::StatusOr<Progress> DiscriminatorRole::Advance(absl::Time deadline) {
  UseThreads(options_.compute);
  absl::Status done;
  switch (phase_) {
    case Phase::kPublish:
    case Phase::kAnswer:
    case Phase::kGate:
    case Phase::kLeave: {
      absl::StatusOr<Progress> progress = Boundary(deadline);
      if (absl::IsDeadlineExceeded(progress.status())) {
        return Progress::kWaiting;
      }
      return progress;
    }
    case Phase::kTrain:
      done = Train(ops_[next_op_], deadline);
      break;
  }
  if (absl::IsDeadlineExceeded(done)) return Progress::kWaiting;
  GANDEM_RETURN_IF_ERROR(done);
  if (++next_op_ == ops_.size()) {
    EndRound();
    GANDEM_RETURN_IF_ERROR(SaveIfDue());
  }
  return Progress::kAdvanced;
}

// --- Between rounds ---

void DiscriminatorRole::EnterBoundary() {
  phase_ = Phase::kPublish;
  to_publish_.clear();
  const Schedule& schedule = options_.schedule;
  const bool snapshot = schedule.feedback == FeedbackMode::kSnapshot;
  if (!exact()) return;
  // A generator that starts at first_round may need older critics first.
  if (snapshot && round_ == options_.first_round) {
    for (const auto& [boundary, critic] : older_) to_publish_.push_back(critic);
  }
  const int64_t judged = schedule.LastRoundJudgedBy(round_);
  const bool needed =
      judged >= options_.first_round &&
      judged <= std::max(services_.gate->last_round(), schedule.lag - 1);
  const bool kept = schedule.lag >= 2;
  if ((snapshot && needed) || kept) {
    CriticState critic{.version = version_,
                       .bytes = PackModule(*parts_.network)};
    if (snapshot && needed) to_publish_.push_back(critic);
    if (kept) older_[round_] = std::move(critic);
  }
  // A generator that is restored after round_ rounds needs them from here on.
  older_.erase(older_.begin(),
               older_.lower_bound(schedule.OldestBoundaryNeeded(round_)));
}

absl::StatusOr<Progress> DiscriminatorRole::Boundary(absl::Time deadline) {
  switch (phase_) {
    case Phase::kPublish:
      GANDEM_RETURN_IF_ERROR(PublishDue(deadline));
      phase_ = Phase::kAnswer;
      return Progress::kAdvanced;
    case Phase::kAnswer:
      GANDEM_RETURN_IF_ERROR(AnswerDue(deadline));
      phase_ = Phase::kGate;
      return Progress::kAdvanced;
    case Phase::kGate:
      return StartRound(deadline);
    default:
      if (!exact()) {
        GANDEM_RETURN_IF_ERROR(ServeNewest());
        deadline = std::min(deadline, absl::Now() + kServeInterval);
      }
      GANDEM_RETURN_IF_ERROR(exchange_->WaitForGenerators(deadline));
      return Progress::kFinished;
  }
}

absl::Status DiscriminatorRole::PublishDue(absl::Time deadline) {
  if (!exact()) return ServeNewest();
  while (!to_publish_.empty()) {
    GANDEM_FAILPOINT("discriminator.before_publish");
    GANDEM_RETURN_IF_ERROR(timer_.Timed(RoundTimer::kFeedback, [&] {
      return exchange_->PublishCritic(to_publish_.front(), deadline);
    }));
    to_publish_.pop_front();
  }
  return absl::OkStatus();
}

int64_t DiscriminatorRole::FeedbackDue() const {
  // Rounds after the last one are never asked for. At lag 0 nothing is due
  // before the first round.
  return std::min(options_.schedule.LastRoundJudgedBy(round_),
                  services_.gate->last_round());
}

absl::Status DiscriminatorRole::AnswerDue(absl::Time deadline) {
  const Schedule& schedule = options_.schedule;
  if (schedule.feedback == FeedbackMode::kSnapshot) return absl::OkStatus();
  if (!exact()) return ServeNewest();
  const int64_t slice =
      RankSlice(schedule.generator_batch, options_.rank, options_.fleet_size)
          .count;
  while (true) {
    // Looked up each time: a cut lowers what is due.
    const int64_t due_round = FeedbackDue();
    if (answered_images_ >= (due_round + 1 - options_.first_round) * slice) {
      return absl::OkStatus();
    }
    absl::StatusOr<ImageBatch> request = timer_.Timed(RoundTimer::kImages, [&] {
      return exchange_->NextFeedbackRequest(due_round, deadline);
    });
    GANDEM_RETURN_IF_ERROR(request.status());
    GANDEM_RETURN_IF_ERROR(Answer(*request));
  }
}

absl::Status DiscriminatorRole::Answer(const ImageBatch& images) {
  GANDEM_FAILPOINT("discriminator.before_answer");
  const Schedule& schedule = options_.schedule;
  Discriminator* critic = parts_.network.get();
  int64_t version = version_;
  if (exact() && schedule.CriticVersion(images.round) != version_) {
    // After a restart the generator repeats rounds judged by older versions.
    const auto older = older_.find(schedule.CriticBoundary(images.round));
    if (older == older_.end()) {
      return absl::InternalError(absl::StrCat(
          "no critic for round ", images.round, " before round ", round_));
    }
    GANDEM_RETURN_IF_ERROR(
        UnpackModule(older->second.bytes, *parts_.older_critic));
    critic = parts_.older_critic.get();
    version = older->second.version;
  }
  const Judgment judgment =
      JudgeImages(*critic,
                  UnpackImages(images.pixels, images.count, images.format,
                               options_.compute),
                  options_.loss, schedule.generator_batch, options_.compute);
  answered_images_ += images.count;
  return exchange_->AnswerFeedback(
      {.round = images.round,
       .first_index = images.first_index,
       .count = images.count,
       .critic_version = version,
       .loss = judgment.loss,
       .format = options_.feedback_format,
       .gradient =
           PackImages(judgment.gradient_NCHW, options_.feedback_format)});
}

absl::Status DiscriminatorRole::ServeNewest() {
  if (options_.schedule.feedback == FeedbackMode::kSnapshot) {
    if (published_version_ == version_) return absl::OkStatus();
    if (to_publish_.empty() || to_publish_.back().version != version_) {
      to_publish_.clear();
      to_publish_.push_back(
          {.version = version_, .bytes = PackModule(*parts_.network)});
    }
    const absl::Status published =
        exchange_->PublishCritic(to_publish_.back(), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(published)) return absl::OkStatus();
    if (published.ok()) published_version_ = version_;
    return published;
  }
  while (true) {
    absl::StatusOr<ImageBatch> request = exchange_->NextFeedbackRequest(
        services_.gate->last_round(), absl::InfinitePast());
    if (absl::IsDeadlineExceeded(request.status())) return absl::OkStatus();
    GANDEM_RETURN_IF_ERROR(request.status());
    GANDEM_RETURN_IF_ERROR(Answer(*request));
  }
}

absl::StatusOr<Progress> DiscriminatorRole::StartRound(absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(SaveIfDue());
  if (!exact()) {
    GANDEM_RETURN_IF_ERROR(ServeNewest());
    deadline = std::min(deadline, absl::Now() + kServeInterval);
  }
  switch (services_.gate->Start(round_, deadline)) {
    case RoundGate::Answer::kHold:
      return Progress::kWaiting;
    case RoundGate::Answer::kPastEnd:
      GANDEM_RETURN_IF_ERROR(SaveIfDue());
      phase_ = Phase::kLeave;
      return Progress::kAdvanced;
    case RoundGate::Answer::kStart:
      break;
  }
  phase_ = Phase::kTrain;
  ops_ =
      DiscriminatorRound(options_.schedule, options_.rank, options_.fleet_size);
  next_op_ = 0;
  timer_.StartRound();
  loss_sum_ = logit_real_sum_ = logit_generated_sum_ = 0;
  parts_.optimizer->ZeroGradients();
  return Progress::kAdvanced;
}

// --- A round ---

absl::Status DiscriminatorRole::Train(const DiscriminatorOp& op,
                                      absl::Time deadline) {
  switch (op.kind) {
    case Kind::kReal:
      return Real(op, deadline);
    case Kind::kTake:
      return Take(op, deadline);
    case Kind::kGenerated:
      Generated(op);
      return absl::OkStatus();
    case Kind::kUpdate:
      return Update(op);
  }
  return absl::InternalError("unknown discriminator operation");
}

absl::Status DiscriminatorRole::Real(const DiscriminatorOp& op,
                                     absl::Time deadline) {
  if (real_step_ != version_) {
    absl::StatusOr<at::Tensor> images = timer_.Timed(RoundTimer::kData, [&] {
      return parts_.real_images(version_, deadline);
    });
    GANDEM_RETURN_IF_ERROR(images.status());
    real_NCHW_ = *std::move(images);
    real_step_ = version_;
  }
  const Schedule& schedule = options_.schedule;
  const int64_t slice_first = RankSlice(schedule.discriminator_batch,
                                        options_.rank, options_.fleet_size)
                                  .first;
  const at::Tensor images_NCHW = InLayout(
      real_NCHW_.narrow(0, op.range.first - slice_first, op.range.count),
      options_.compute);
  const at::Tensor logits_N =
      parts_.network->forward(images_NCHW, ForwardMode::kTrain);
  const at::Tensor loss =
      RealLoss(options_.loss, logits_N, schedule.discriminator_batch);
  loss.backward();
  loss_sum_ += loss.item<double>();
  logit_real_sum_ += logits_N.sum().item<double>();
  return absl::OkStatus();
}

absl::Status DiscriminatorRole::Take(const DiscriminatorOp& op,
                                     absl::Time deadline) {
  absl::StatusOr<std::vector<ImageBatch>> images;
  if (exact()) {
    images = timer_.Timed(RoundTimer::kImages, [&] {
      return exchange_->TakeImages(round_, op.range.first, op.range.count,
                                   deadline);
    });
  } else {
    // The network is at a version here, before the step's first forward.
    GANDEM_RETURN_IF_ERROR(ServeNewest());
    deadline = std::min(deadline, absl::Now() + kServeInterval);
    images = timer_.Timed(RoundTimer::kImages, [&] {
      return exchange_->TakeNextImages(round_, op.range.count, deadline);
    });
  }
  GANDEM_RETURN_IF_ERROR(images.status());
  GANDEM_FAILPOINT("discriminator.after_take");
  image_age_ = round_ - images->front().round;
  taken_[op.range.first] = *std::move(images);
  return absl::OkStatus();
}

void DiscriminatorRole::Generated(const DiscriminatorOp& op) {
  const auto taken = taken_.find(op.range.first);
  const at::Tensor images_NCHW = UnpackImages(taken->second, options_.compute);
  taken_.erase(taken);
  const at::Tensor logits_N =
      parts_.network->forward(images_NCHW, ForwardMode::kTrain);
  const at::Tensor loss = GeneratedLoss(options_.loss, logits_N,
                                        options_.schedule.discriminator_batch);
  loss.backward();
  loss_sum_ += loss.item<double>();
  logit_generated_sum_ += logits_N.sum().item<double>();
}

absl::Status DiscriminatorRole::Update(const DiscriminatorOp&) {
  GANDEM_FAILPOINT("discriminator.before_update");
  gradient_norm_ =
      ClipGradientNorm(*parts_.network, options_.clip_gradient_norm);
  GANDEM_RETURN_IF_ERROR(parts_.optimizer->Step());
  parts_.optimizer->ZeroGradients();
  ++version_;
  GANDEM_FAILPOINT("discriminator.after_update");
  return absl::OkStatus();
}

void DiscriminatorRole::EndRound() {
  exchange_->FinishRound(round_);
  ReportRound();
  ++round_;
  EnterBoundary();
}

absl::Status DiscriminatorRole::SaveIfDue() {
  if (services_.checkpoints == nullptr || saved_rounds_ == round_ ||
      !options_.checkpoints.Due(round_, *services_.gate)) {
    return absl::OkStatus();
  }
  std::vector<NamedTensor> tensors;
  AppendTensors("model.", StateOf(*parts_.network), tensors);
  AppendTensors("optimizer.", parts_.optimizer->State(), tensors);
  for (const auto& [boundary, critic] : older_) {
    if (boundary == round_) continue;  // it is the model
    tensors.push_back({.name = absl::StrCat("critic.", boundary),
                       .dtype = DType::kU8,
                       .shape = {static_cast<int64_t>(critic.bytes.size())},
                       .bytes = critic.bytes});
  }
  saved_rounds_ = round_;
  return services_.checkpoints->Save(
      round_, absl::StrCat("discriminator-", options_.rank, ".safetensors"),
      std::move(tensors));
}

void DiscriminatorRole::ReportRound() {
  const Schedule& schedule = options_.schedule;
  const int64_t steps = schedule.discriminator_steps_per_round;
  const double images =
      static_cast<double>(steps * RankSlice(schedule.discriminator_batch,
                                            options_.rank, options_.fleet_size)
                                      .count);
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_rank(options_.rank);
  metrics.set_round(round_);
  metrics.set_loss(loss_sum_ / steps);
  metrics.set_logit_real(logit_real_sum_ / images);
  metrics.set_logit_generated(logit_generated_sum_ / images);
  metrics.set_gradient_norm(gradient_norm_);
  metrics.set_images(static_cast<int64_t>(images));
  metrics.set_lag(image_age_);
  const ExchangeStats stats = exchange_->stats();
  metrics.set_cache_images(stats.cache_images);
  metrics.set_cache_capacity(stats.cache_capacity);
  metrics.set_images_dropped(stats.images_dropped);
  metrics.set_images_replayed(stats.images_replayed);
  timer_.Report(metrics);
  if (services_.report) services_.report(metrics);
}

}  // namespace gandem
