// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/discriminator_role.h"

#include <algorithm>
#include <utility>

#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "models/torch.h"

namespace gandem {

using Kind = DiscriminatorOp::Kind;

DiscriminatorRole::DiscriminatorRole(RunPlan plan, const EpochPlace& place,
                                     Parts parts,
                                     DiscriminatorExchange* exchange,
                                     RoleServices services)
    : RoundRole(DISCRIMINATOR, std::move(plan), place, std::move(services),
                TrainedOf(parts)),
      parts_(std::move(parts)),
      exchange_(exchange),
      feedback_(MakeFeedbackGiver({.plan = plan_,
                                   .place = place_,
                                   .compute = parts_.compute,
                                   .network = parts_.network,
                                   .new_critic = parts_.new_critic,
                                   .condition = parts_.condition,
                                   .real_images = parts_.judging_images,
                                   .exchange = exchange_,
                                   .gate = services_.gate,
                                   .timer = timer()})),
      objective_(plan_.objective, parts_.network,
                 plan_.schedule().discriminator_batch, parts_.fleet) {}

RoundRole::StateParts DiscriminatorRole::State() const {
  return {{"model.", StateOf(*parts_.network)},
          {"optimizer.", parts_.optimizer->State(), StateChanges::kInUpdates},
          {"objective.", objective_.State()}};
}

void DiscriminatorRole::AddMore(StateShard& state) const {
  feedback_->SaveOlderCritics(state);
}

absl::Status DiscriminatorRole::RestoreMore(const TensorReader& state) {
  return feedback_->Restore(state);
}

absl::StatusOr<AdvanceResult> DiscriminatorRole::Next(absl::Time deadline) {
  switch (phase_) {
    case Phase::kGive:
      GANDEM_RETURN_IF_ERROR(feedback_->GiveDue(deadline));
      phase_ = Phase::kGate;
      return AdvanceResult::kAdvanced;
    case Phase::kGate:
      return StartRound(deadline);
    case Phase::kTrain:
      return Train(ops_[next_op_], deadline);
    case Phase::kLeave:
      return Leave(deadline);
  }
  return absl::InternalError("unknown phase of the discriminator");
}

// --- Between rounds ---

absl::StatusOr<AdvanceResult> DiscriminatorRole::StartRound(
    absl::Time deadline) {
  // A held gate opens once the cut is known, which needs no feedback.
  GANDEM_RETURN_IF_ERROR(feedback_->Offer(updates()));
  GANDEM_ASSIGN_OR_RETURN(const bool begun, BeginRound(deadline));
  if (!begun) {
    phase_ = Phase::kLeave;
    return AdvanceResult::kAdvanced;
  }
  phase_ = Phase::kTrain;
  ops_ = DiscriminatorRound(plan_.schedule(), place_.rank,
                            plan_.discriminator.workers);
  next_op_ = 0;
  loss_sum_ = logit_real_sum_ = logit_generated_sum_ = {};
  image_age_ = 0;
  return AdvanceResult::kAdvanced;
}

absl::StatusOr<AdvanceResult> DiscriminatorRole::Leave(absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(feedback_->Offer(updates()));
  NoteWait(WorkerPosition::FINISH, GENERATOR);
  GANDEM_ASSIGN_OR_RETURN(const WaitEnd end,
                          exchange_->WaitForGenerators(deadline));
  return end == WaitEnd::kAsked ? AdvanceResult::kWaiting
                                : AdvanceResult::kFinished;
}

// --- A round ---

absl::StatusOr<AdvanceResult> DiscriminatorRole::Train(
    const DiscriminatorOp& op, absl::Time deadline) {
  switch (op.kind) {
    case Kind::kReal:
      GANDEM_RETURN_IF_ERROR(Real(op, deadline));
      break;
    case Kind::kTake: {
      GANDEM_ASSIGN_OR_RETURN(const WaitEnd end, Take(op, deadline));
      if (end == WaitEnd::kAsked) return AdvanceResult::kWaiting;
      break;
    }
    case Kind::kGenerated:
      GANDEM_RETURN_IF_ERROR(Generated(op, deadline));
      break;
    case Kind::kUpdate:
      GANDEM_RETURN_IF_ERROR(EndStep(deadline));
      break;
  }
  if (++next_op_ < ops_.size()) return AdvanceResult::kAdvanced;
  exchange_->FinishRound(round());
  EndRound(Measured());
  phase_ = Phase::kGive;
  feedback_->EnterBoundary(round());
  GANDEM_RETURN_IF_ERROR(SaveIfDue());
  return AdvanceResult::kAdvanced;
}

absl::Status DiscriminatorRole::BeginStep(absl::Time deadline) {
  if (real_step_ == updates()) return absl::OkStatus();
  GANDEM_ASSIGN_OR_RETURN(
      real_, timer()->Timed(RoundTimer::kData, {WorkerPosition::DATA}, [&] {
        return parts_.real_images(updates(), deadline);
      }));
  real_step_ = updates();
  objective_.BeginStep(updates(), real_.images_NCHW, slices());
  return absl::OkStatus();
}

absl::Status DiscriminatorRole::Real(const DiscriminatorOp& op,
                                     absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(BeginStep(deadline));
  const int64_t first = PlaceInSlices(slices(), op.range.first);
  const at::Tensor images_NCHW = InLayout(
      real_.images_NCHW.narrow(0, first, op.range.count), parts_.compute);
  const Condition condition = Narrow(real_.condition, first, op.range.count);
  const DiscriminatorObjective::Share share = [&] {
    const TraceSpan span("forward real", {"images", op.range.count});
    return objective_.Real(images_NCHW, condition, op.range.first);
  }();
  logit_real_sum_.Add(share.logit_sum);
  Backward(share, GradientNoise::REAL, op.range.count);
  return absl::OkStatus();
}

absl::StatusOr<WaitEnd> DiscriminatorRole::Take(const DiscriminatorOp& op,
                                                absl::Time deadline) {
  // With BOUNDED, the network is at a version here, before the step's first
  // forward pass. The wait below ends when a generator needs feedback.
  GANDEM_RETURN_IF_ERROR(feedback_->Offer(updates()));
  GANDEM_ASSIGN_OR_RETURN(
      TakenImages taken,
      timer()->Timed(
          RoundTimer::kImages, {WorkerPosition::IMAGES, GENERATOR},
          [this] { return exchange_->waits_for(); },
          [&] {
            return exchange_->TakeImages(round(), op.range.first,
                                         op.range.count, deadline);
          }));
  if (taken.end == WaitEnd::kAsked) return WaitEnd::kAsked;
  GANDEM_FAILPOINT("discriminator.after_take");
  for (const ImageBatch& piece : taken.pieces) {
    image_age_ = std::max(image_age_, round() - piece.round);
  }
  taken_[op.range.first] = std::move(taken.pieces);
  return WaitEnd::kDone;
}

absl::Status DiscriminatorRole::Generated(const DiscriminatorOp& op,
                                          absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(BeginStep(deadline));
  const auto taken = taken_.find(op.range.first);
  const at::Tensor images_NCHW = UnpackImages(taken->second, parts_.compute);
  images_NCHW.set_requires_grad(feedback_->WantsImageGradients());
  GANDEM_ASSIGN_OR_RETURN(
      const Condition condition,
      ConditionOf(parts_.condition, plan_.schedule(), taken->second));
  taken_.erase(taken);
  const DiscriminatorObjective::Share share = [&] {
    const TraceSpan span("forward generated", {"images", op.range.count});
    return objective_.Generated(
        images_NCHW, condition,
        op.range.first - op.step * plan_.schedule().discriminator_batch);
  }();
  logit_generated_sum_.Add(share.logit_sum);
  return feedback_->GiveInTraining(
      {.round = round(), .first_index = op.range.first, .pass = share.pass},
      [&] { Backward(share, GradientNoise::GENERATED, op.range.count); });
}

void DiscriminatorRole::Backward(const DiscriminatorObjective::Share& share,
                                 GradientNoise::Part part, int64_t images) {
  if (ops_[next_op_ + 1].kind == Kind::kUpdate) ExpectLastBackward();
  if (!share.root.defined()) return;
  const TraceSpan span("backward");
  MeasuredBackward(part, images, [&] {
    (parts_.scaler ? parts_.scaler->Scale(share.root) : share.root).backward();
  });
  loss_sum_.Add(share.loss);
}

void DiscriminatorRole::PenalizeAgain() {
  const TraceSpan span("second update");
  const size_t shares = objective_.num_second_shares();
  for (size_t i = 0; i < shares; ++i) {
    const at::Tensor loss = objective_.SecondShare(i);
    if (i + 1 == shares) ExpectLastBackward();
    (parts_.scaler ? parts_.scaler->Scale(loss) : loss).backward();
    loss_sum_.Add(loss);
  }
}

absl::Status DiscriminatorRole::EndStep(absl::Time deadline) {
  const auto before = [this] {
    GANDEM_FAILPOINT("discriminator.before_update");
    objective_.EndStep();
  };
  SecondUpdate second;
  if (objective_.num_second_shares() > 0) {
    second = [this] {
      PenalizeAgain();
      return absl::OkStatus();
    };
  }
  GANDEM_RETURN_IF_ERROR(Update(loss_sum_, before, second, deadline));
  parts_.optimizer->ZeroGradients();
  GANDEM_FAILPOINT("discriminator.after_update");
  return absl::OkStatus();
}

RoundMetrics DiscriminatorRole::Measured() const {
  const Schedule& schedule = plan_.schedule();
  const int64_t steps = schedule.discriminator_steps_per_round;
  const double images = static_cast<double>(steps * num_images());
  // A loss is this rank's share of the batch loss; metrics show the mean.
  const double share = static_cast<double>(num_images()) /
                       static_cast<double>(schedule.discriminator_batch);
  RoundMetrics metrics;
  metrics.set_loss(loss_sum_.Value() / share / steps);
  metrics.set_logit_real(logit_real_sum_.Value() / images);
  metrics.set_logit_generated(logit_generated_sum_.Value() / images);
  metrics.set_images(static_cast<int64_t>(images));
  if (const AdaController* const ada = objective_.ada(); ada != nullptr) {
    metrics.set_ada_p(ada->p());
    if (const auto sign = ada->mean_sign()) metrics.set_ada_r_t(*sign);
  }
  metrics.set_lag(image_age_);
  const ExchangeStats stats = exchange_->stats();
  RecordCounter("images in the cache", stats.cache_images);
  metrics.set_cache_images(stats.cache_images);
  metrics.set_cache_capacity(stats.cache_capacity);
  metrics.set_images_dropped(stats.images_dropped);
  metrics.set_images_replayed(stats.images_replayed);
  if (parts_.data_metrics) *metrics.mutable_data() = parts_.data_metrics();
  return metrics;
}

}  // namespace gandem
