// SPDX-License-Identifier: Apache-2.0
#include "discriminator_worker/discriminator_role.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"

namespace gandem {

using Kind = DiscriminatorOp::Kind;

DiscriminatorRole::DiscriminatorRole(RoleOptions options, Parts parts,
                                     DiscriminatorExchange* exchange,
                                     RoleServices services)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      exchange_(exchange),
      services_(std::move(services)),
      timer_(services_.fleet),
      update_({.network = parts_.network.get(),
               .optimizer = parts_.optimizer.get(),
               .scaler = parts_.scaler.get(),
               .synchronizer = parts_.synchronizer.get(),
               .timer = &timer_},
              options_.clip_gradient_norm),
      duties_(options_, parts_.network, parts_.older_critic, parts_.condition,
              parts_.judging_images, exchange_, services_.gate, &timer_),
      objective_(options_.objective, parts_.network,
                 options_.schedule.discriminator_batch, parts_.fleet),
      round_(options_.first_round),
      version_(round_ * options_.schedule.discriminator_steps_per_round),
      saved_rounds_(options_.saved_rounds) {}

absl::Status DiscriminatorRole::Restore(const TensorReader& state) {
  GANDEM_RETURN_IF_ERROR(state.Load("model.", StateOf(*parts_.network)));
  GANDEM_RETURN_IF_ERROR(state.Load("optimizer.", parts_.optimizer->State()));
  GANDEM_RETURN_IF_ERROR(state.Load("objective.", objective_.State()));
  if (parts_.scaler) {
    GANDEM_RETURN_IF_ERROR(state.Load("scaler.", parts_.scaler->State()));
  }
  return duties_.Restore(state);
}

std::string DiscriminatorRole::Position() const {
  switch (phase_) {
    case Phase::kDuties:
      return absl::StrCat("discriminator gives feedback up to round ",
                          duties_.feedback_due(), " before round ", round_);
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

absl::StatusOr<AdvanceResult> DiscriminatorRole::Advance(absl::Time deadline) {
  UseThreads(options_.compute);
  const Tf32Scope tf32(options_.compute);
  absl::Status done;
  switch (phase_) {
    case Phase::kDuties:
    case Phase::kGate:
    case Phase::kLeave: {
      absl::StatusOr<AdvanceResult> progress = Boundary(deadline);
      if (absl::IsDeadlineExceeded(progress.status())) {
        return AdvanceResult::kWaiting;
      }
      return progress;
    }
    case Phase::kTrain:
      done = Train(ops_[next_op_], deadline);
      break;
  }
  if (absl::IsDeadlineExceeded(done)) return AdvanceResult::kWaiting;
  GANDEM_RETURN_IF_ERROR(done);
  if (++next_op_ == ops_.size()) {
    EndRound();
    GANDEM_RETURN_IF_ERROR(SaveIfDue());
  }
  return AdvanceResult::kAdvanced;
}

// --- Between rounds ---

absl::StatusOr<AdvanceResult> DiscriminatorRole::Boundary(absl::Time deadline) {
  switch (phase_) {
    case Phase::kDuties:
      GANDEM_RETURN_IF_ERROR(duties_.Do(deadline));
      phase_ = Phase::kGate;
      return AdvanceResult::kAdvanced;
    case Phase::kGate:
      return StartRound(deadline);
    default:
      if (!exact()) GANDEM_RETURN_IF_ERROR(duties_.ServeNewest(version_));
      GANDEM_RETURN_IF_ERROR(exchange_->WaitForGenerators(deadline));
      return AdvanceResult::kFinished;
  }
}

absl::StatusOr<AdvanceResult> DiscriminatorRole::StartRound(
    absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(SaveIfDue());
  // A held gate opens when the cut is known, for which no feedback is needed.
  if (!exact()) GANDEM_RETURN_IF_ERROR(duties_.ServeNewest(version_));
  switch (services_.gate->Start(round_, deadline)) {
    case RoundGate::Answer::kHold:
      return AdvanceResult::kWaiting;
    case RoundGate::Answer::kPastEnd:
      GANDEM_RETURN_IF_ERROR(SaveIfDue());
      phase_ = Phase::kLeave;
      return AdvanceResult::kAdvanced;
    case RoundGate::Answer::kStart:
      break;
  }
  phase_ = Phase::kTrain;
  ops_ =
      DiscriminatorRound(options_.schedule, options_.rank, options_.fleet_size);
  next_op_ = 0;
  loss_sum_ = logit_real_sum_ = logit_generated_sum_ = 0;
  image_age_ = 0;
  parts_.optimizer->ZeroGradients();
  return AdvanceResult::kAdvanced;
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
      return Generated(op);
    case Kind::kUpdate:
      return Update(deadline);
  }
  return absl::InternalError("unknown discriminator operation");
}

absl::Status DiscriminatorRole::Real(const DiscriminatorOp& op,
                                     absl::Time deadline) {
  if (real_step_ != version_) {
    absl::StatusOr<RealImages> images = timer_.Timed(RoundTimer::kData, [&] {
      return parts_.real_images(version_, deadline);
    });
    GANDEM_RETURN_IF_ERROR(images.status());
    real_ = *std::move(images);
    real_step_ = version_;
    objective_.BeginStep(version_, real_.images_NCHW);
  }
  const Schedule& schedule = options_.schedule;
  const int64_t first =
      op.range.first - RankSlice(schedule.discriminator_batch, options_.rank,
                                 options_.fleet_size)
                           .first;
  const at::Tensor images_NCHW = InLayout(
      real_.images_NCHW.narrow(0, first, op.range.count), options_.compute);
  const Condition condition = Narrow(real_.condition, first, op.range.count);
  const DiscriminatorObjective::Share share = [&] {
    const TraceSpan span("forward real", {"images", op.range.count});
    return objective_.Real(images_NCHW, condition, op.range.first);
  }();
  logit_real_sum_ += share.logit_sum;
  Backward(share.loss);
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
    // The network is at a version here, before the step's first forward; the
    // wait below ends when somebody wants it.
    GANDEM_RETURN_IF_ERROR(duties_.ServeNewest(version_));
    images = timer_.Timed(RoundTimer::kImages, [&] {
      return exchange_->TakeNextImages(round_, op.range.count, deadline);
    });
  }
  GANDEM_RETURN_IF_ERROR(images.status());
  GANDEM_FAILPOINT("discriminator.after_take");
  for (const ImageBatch& piece : *images) {
    image_age_ = std::max(image_age_, round_ - piece.round);
  }
  taken_[op.range.first] = *std::move(images);
  return absl::OkStatus();
}

absl::Status DiscriminatorRole::Generated(const DiscriminatorOp& op) {
  const auto taken = taken_.find(op.range.first);
  const at::Tensor images_NCHW = UnpackImages(taken->second, options_.compute);
  GANDEM_ASSIGN_OR_RETURN(
      const Condition condition,
      ConditionOf(parts_.condition, options_.schedule, taken->second));
  taken_.erase(taken);
  const DiscriminatorObjective::Share share = [&] {
    const TraceSpan span("forward generated", {"images", op.range.count});
    return objective_.Generated(
        images_NCHW, condition,
        op.range.first - op.step * options_.schedule.discriminator_batch);
  }();
  logit_generated_sum_ += share.logit_sum;
  Backward(share.loss);
  return absl::OkStatus();
}

void DiscriminatorRole::Backward(const at::Tensor& loss) {
  if (ops_[next_op_ + 1].kind == Kind::kUpdate) update_.ExpectLastBackward();
  if (!loss.defined()) return;
  const TraceSpan span("backward");
  (parts_.scaler ? parts_.scaler->Scale(loss) : loss).backward();
  loss_sum_ += loss.item<double>();
}

absl::Status DiscriminatorRole::Update(absl::Time deadline) {
  const auto before = [this] {
    GANDEM_FAILPOINT("discriminator.before_update");
    objective_.EndStep();
  };
  GANDEM_RETURN_IF_ERROR(update_.Run(version_ + 1, before, deadline));
  parts_.optimizer->ZeroGradients();
  ++version_;
  GANDEM_FAILPOINT("discriminator.after_update");
  return absl::OkStatus();
}

void DiscriminatorRole::EndRound() {
  exchange_->FinishRound(round_);
  ReportRound();
  ++round_;
  phase_ = Phase::kDuties;
  duties_.EnterBoundary(round_);
}

absl::Status DiscriminatorRole::SaveIfDue() {
  if (services_.checkpoints == nullptr || round_ <= saved_rounds_ ||
      !options_.checkpoints.Due(round_, *services_.gate)) {
    return absl::OkStatus();
  }
  const TraceSpan span("checkpoint capture", {"rounds", round_});
  saved_rounds_ = round_;
  return services_.checkpoints->Save(round_,
                                     ShardName("discriminator", options_.rank),
                                     Copy(NewShard(options_, services_)));
}

RoleState DiscriminatorRole::Capture() const {
  return {.completed_rounds = round_,
          .updates = version_ + (update_.is_updated() ? 1 : 0),
          .tensors = Copy(StateShard(0, 1))};
}

std::vector<NamedTensor> DiscriminatorRole::Copy(StateShard state) const {
  state.Add("model.", StateOf(*parts_.network));
  state.Add("optimizer.", parts_.optimizer->State());
  state.Add("objective.", objective_.State());
  if (parts_.scaler) state.Add("scaler.", parts_.scaler->State());
  state.Add("", options_.compute_choice);
  duties_.SaveOlderCritics(state);
  return state.Copy();
}

void DiscriminatorRole::ReportRound() {
  const Schedule& schedule = options_.schedule;
  const int64_t steps = schedule.discriminator_steps_per_round;
  const int64_t slice = RankSlice(schedule.discriminator_batch, options_.rank,
                                  options_.fleet_size)
                            .count;
  const double images = static_cast<double>(steps * slice);
  // A loss is this rank's share of that of the batch; what is shown is a mean.
  const double share = static_cast<double>(slice) /
                       static_cast<double>(schedule.discriminator_batch);
  RoundMetrics metrics;
  metrics.set_role(DISCRIMINATOR);
  metrics.set_rank(options_.rank);
  metrics.set_round(round_);
  metrics.set_loss(loss_sum_ / share / steps);
  metrics.set_logit_real(logit_real_sum_ / images);
  metrics.set_logit_generated(logit_generated_sum_ / images);
  metrics.set_gradient_norm(update_.gradient_norm());
  metrics.set_learning_rate(parts_.optimizer->learning_rate());
  if (parts_.scaler) {
    metrics.set_loss_scale(parts_.scaler->scale());
    metrics.set_updates_skipped(parts_.scaler->skipped());
  }
  if (parts_.synchronizer) metrics.set_drift(parts_.synchronizer->drift());
  metrics.set_images(static_cast<int64_t>(images));
  metrics.set_workers(options_.fleet_size);
  metrics.set_lag(image_age_);
  const ExchangeStats stats = exchange_->stats();
  RecordCounter("images in the cache", stats.cache_images);
  metrics.set_cache_images(stats.cache_images);
  metrics.set_cache_capacity(stats.cache_capacity);
  metrics.set_images_dropped(stats.images_dropped);
  metrics.set_images_replayed(stats.images_replayed);
  timer_.EndRound(metrics);
  if (services_.report) services_.report(metrics);
}

}  // namespace gandem
