// SPDX-License-Identifier: Apache-2.0
#include "generator_worker/generator_role.h"

#include <torch/torch.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "training/objective/critic.h"
#include "training/objective/losses.h"

namespace gandem {

using Kind = GeneratorOp::Kind;

GeneratorRole::GeneratorRole(RoleOptions options, Parts parts,
                             GeneratorExchange* exchange, RoleServices services)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      exchange_(exchange),
      services_(std::move(services)),
      round_(options_.first_round),
      saved_rounds_(options_.saved_rounds),
      timer_(services_.fleet),
      update_({.network = parts_.network.get(),
               .optimizer = parts_.optimizer.get(),
               .scaler = parts_.scaler.get(),
               .synchronizer = parts_.synchronizer.get(),
               .timer = &timer_},
              options_.clip_gradient_norm) {}

absl::Status GeneratorRole::Restore(const TensorReader& state) {
  GANDEM_RETURN_IF_ERROR(state.Load("model.", StateOf(*parts_.network)));
  GANDEM_RETURN_IF_ERROR(state.Load("ema.", StateOf(*parts_.average)));
  if (parts_.scaler) {
    GANDEM_RETURN_IF_ERROR(state.Load("scaler.", parts_.scaler->State()));
  }
  return state.Load("optimizer.", parts_.optimizer->State());
}

std::string GeneratorRole::Position() const {
  if (next_op_ == ops_.size()) {
    return absl::StrCat("generator before round ", round_);
  }
  const GeneratorOp& op = ops_[next_op_];
  switch (op.kind) {
    case Kind::kTakeCritic:
      return absl::StrCat("generator in round ", round_, " wants critic ",
                          op.critic_version);
    case Kind::kTakeFeedback:
      return absl::StrCat("generator in round ", round_,
                          " wants feedback for image ", op.range.first);
    case Kind::kSendImages:
    case Kind::kSendForward:
      return absl::StrCat("generator in round ", round_, " sends image ",
                          op.range.first);
    default:
      return absl::StrCat("generator computes in round ", round_);
  }
}

absl::StatusOr<AdvanceResult> GeneratorRole::Advance(absl::Time deadline) {
  UseThreads(options_.compute);
  const Tf32Scope tf32(options_.compute);
  if (finished_) return AdvanceResult::kFinished;
  if (next_op_ == ops_.size()) return BetweenRounds(deadline);
  const absl::Status done = Execute(ops_[next_op_], deadline);
  if (absl::IsDeadlineExceeded(done)) return AdvanceResult::kWaiting;
  GANDEM_RETURN_IF_ERROR(done);
  ++next_op_;
  return AdvanceResult::kAdvanced;
}

absl::StatusOr<AdvanceResult> GeneratorRole::BetweenRounds(
    absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(SaveIfDue());
  switch (services_.gate->Start(round_, deadline)) {
    case RoundGate::Answer::kHold:
      return AdvanceResult::kWaiting;
    case RoundGate::Answer::kPastEnd: {
      // The cut may have become known while waiting.
      GANDEM_RETURN_IF_ERROR(SaveIfDue());
      const absl::Status done = exchange_->Finish(deadline);
      if (absl::IsDeadlineExceeded(done)) return AdvanceResult::kWaiting;
      GANDEM_RETURN_IF_ERROR(done);
      finished_ = true;
      return AdvanceResult::kFinished;
    }
    case RoundGate::Answer::kStart:
      break;
  }
  ops_ = GeneratorRound(options_.schedule, round_, options_.rank,
                        options_.fleet_size);
  next_op_ = 0;
  micro_batches_.clear();
  loss_sum_ = 0;
  parts_.optimizer->ZeroGradients();
  return AdvanceResult::kAdvanced;
}

absl::Status GeneratorRole::Execute(const GeneratorOp& op,
                                    absl::Time deadline) {
  switch (op.kind) {
    case Kind::kMakeImages:
      return MakeImages(op);
    case Kind::kSendImages:
      return Send(ImageUse::kTrain, op.range, deadline);
    case Kind::kForward:
      return Forward(op);
    case Kind::kSendForward: {
      const Schedule& schedule = options_.schedule;
      const bool reused = schedule.image_source == ImageSource::kReused;
      const bool judged = schedule.feedback == FeedbackMode::kImageGradient;
      return Send(!judged  ? ImageUse::kTrain
                  : reused ? ImageUse::kBoth
                           : ImageUse::kFeedback,
                  op.range, deadline);
    }
    case Kind::kTakeCritic:
      return TakeCritic(op.critic_version, deadline);
    case Kind::kTakeFeedback:
      return TakeFeedback(op, deadline);
    case Kind::kBackward:
      Backward(op);
      return absl::OkStatus();
    case Kind::kUpdate:
      return Update(deadline);
  }
  return absl::InternalError("unknown generator operation");
}

absl::Status GeneratorRole::MakeImages(const GeneratorOp& op) {
  const TraceSpan span("make images", {"images", op.range.count});
  torch::NoGradGuard no_grad;
  const int64_t step =
      round_ * options_.schedule.discriminator_steps_per_round + op.step;
  // The index of noise and condition counts within the discriminator step.
  IndexRange range = op.range;
  range.first -= op.step * options_.schedule.discriminator_batch;
  const at::Tensor noise_NZ =
      parts_.noise(Purpose::kDiscriminatorNoise, step, range);
  GANDEM_ASSIGN_OR_RETURN(
      const Condition condition,
      parts_.condition(Purpose::kDiscriminatorNoise, step, range));
  outgoing_ = PackImages(
      parts_.network->forward(noise_NZ, condition, ForwardMode::kFrozen),
      options_.sent_format);
  return absl::OkStatus();
}

absl::Status GeneratorRole::Forward(const GeneratorOp& op) {
  const TraceSpan span("forward", {"images", op.range.count});
  const at::Tensor noise_NZ =
      parts_.noise(Purpose::kGeneratorNoise, round_, op.range);
  GANDEM_ASSIGN_OR_RETURN(
      RealImages given,
      ReadConditions(parts_.condition, parts_.pairs.get(),
                     Purpose::kGeneratorNoise, round_, op.range));
  at::Tensor targets_NCHW;
  if (options_.objective.paired_l1 > 0) {
    GANDEM_CHECK(parts_.pairs != nullptr);
    targets_NCHW = std::move(given.images_NCHW);
  }
  at::Tensor images_NCHW =
      parts_.network->forward(noise_NZ, given.condition, ForwardMode::kTrain);
  if (options_.schedule.SendsStepImages()) {
    outgoing_ = PackImages(images_NCHW, options_.sent_format);
  }
  micro_batches_.push_back({.range = op.range,
                            .condition = std::move(given.condition),
                            .images_NCHW = std::move(images_NCHW),
                            .targets_NCHW = std::move(targets_NCHW)});
  return absl::OkStatus();
}

absl::Status GeneratorRole::Send(ImageUse use, IndexRange range,
                                 absl::Time deadline) {
  GANDEM_FAILPOINT("generator.before_send");
  const ImageBatch batch{.use = use,
                         .round = round_,
                         .first_index = range.first,
                         .count = range.count,
                         .generator_version = round_,
                         .format = options_.sent_format,
                         .pixels = outgoing_};
  GANDEM_RETURN_IF_ERROR(timer_.Timed(RoundTimer::kCache, [&] {
    return exchange_->PutImages(batch, deadline);
  }));
  outgoing_ = SharedBytes();
  GANDEM_FAILPOINT("generator.after_send");
  return absl::OkStatus();
}

absl::Status GeneratorRole::TakeCritic(int64_t version, absl::Time deadline) {
  const bool exact = options_.schedule.consistency == Consistency::kExact;
  absl::StatusOr<CriticState> critic = timer_.Timed(RoundTimer::kFeedback, [&] {
    return exchange_->TakeCritic(version, exact, deadline);
  });
  GANDEM_RETURN_IF_ERROR(critic.status());
  GANDEM_FAILPOINT("generator.after_take_critic");
  critic_used_ = critic->version;
  if (critic->version == loaded_critic_) return absl::OkStatus();
  const TraceSpan span("load critic", {"version", critic->version});
  GANDEM_RETURN_IF_ERROR(UnpackModule(critic->bytes, *parts_.critic));
  loaded_critic_ = critic->version;
  return absl::OkStatus();
}

absl::Status GeneratorRole::TakeFeedback(const GeneratorOp& op,
                                         absl::Time deadline) {
  absl::StatusOr<FeedbackBatch> answer =
      timer_.Timed(RoundTimer::kFeedback, [&] {
        return exchange_->TakeFeedback(round_, op.range.first, deadline);
      });
  GANDEM_RETURN_IF_ERROR(answer.status());
  GANDEM_FAILPOINT("generator.after_take_feedback");
  const bool exact = options_.schedule.consistency == Consistency::kExact;
  if (answer->count != op.range.count ||
      (exact && answer->critic_version != op.critic_version)) {
    return absl::InternalError(
        absl::StrCat("feedback for ", answer->count, " images from critic ",
                     answer->critic_version, ", the schedule wants ",
                     op.range.count, " from critic ", op.critic_version));
  }
  critic_used_ = answer->critic_version;
  loss_sum_ += answer->loss;
  feedback_NCHW_ = UnpackImages(answer->gradient, answer->count, answer->format,
                                options_.compute);
  return absl::OkStatus();
}

void GeneratorRole::Backward(const GeneratorOp& op) {
  // Ascending, whatever order feedback arrives in.
  MicroBatch& batch =
      *std::find_if(micro_batches_.begin(), micro_batches_.end(),
                    [&](const MicroBatch& b) { return b.range == op.range; });
  if (options_.schedule.feedback == FeedbackMode::kSnapshot) {
    const TraceSpan span("judge", {"images", op.range.count});
    Judgment judgment =
        JudgeImages(*parts_.critic,
                    {.images_NCHW = batch.images_NCHW,
                     .condition = batch.condition,
                     .round = round_,
                     .first_index = batch.range.first},
                    options_.objective, options_.schedule.generator_batch,
                    parts_.critic_compute);
    loss_sum_ += judgment.loss;
    feedback_NCHW_ = InLayout(judgment.gradient_NCHW, options_.compute);
  }
  if (batch.targets_NCHW.defined()) {
    loss_sum_ += AddPairedL1(batch.images_NCHW, batch.targets_NCHW,
                             options_.objective.paired_l1,
                             options_.schedule.generator_batch, feedback_NCHW_);
  }
  if (ops_[next_op_ + 1].kind == Kind::kUpdate) update_.ExpectLastBackward();
  const TraceSpan span("backward", {"images", op.range.count});
  batch.images_NCHW.backward(
      parts_.scaler ? parts_.scaler->Scale(feedback_NCHW_) : feedback_NCHW_);
  batch.images_NCHW = at::Tensor();  // frees the graph
  feedback_NCHW_ = at::Tensor();
}

absl::Status GeneratorRole::Update(absl::Time deadline) {
  const auto before = [] { GANDEM_FAILPOINT("generator.before_update"); };
  GANDEM_RETURN_IF_ERROR(update_.Run(round_ + 1, before, deadline));
  // Ranks that are not at one state have no average.
  if ((round_ + 1) % options_.rounds_to_agreement == 0) {
    const TraceSpan span("average");
    parts_.ema->Update(round_);
  }
  GANDEM_FAILPOINT("generator.after_update");
  ReportRound();
  ++round_;
  return SaveIfDue();
}

absl::Status GeneratorRole::SaveIfDue() {
  if (services_.checkpoints == nullptr || round_ <= saved_rounds_ ||
      !options_.checkpoints.Due(round_, *services_.gate)) {
    return absl::OkStatus();
  }
  const TraceSpan span("checkpoint capture", {"rounds", round_});
  saved_rounds_ = round_;
  return services_.checkpoints->Save(round_,
                                     ShardName("generator", options_.rank),
                                     Copy(NewShard(options_, services_)));
}

RoleState GeneratorRole::Capture() const {
  return {.completed_rounds = round_,
          .updates = round_ + (update_.is_updated() ? 1 : 0),
          .tensors = Copy(StateShard(0, 1))};
}

std::vector<NamedTensor> GeneratorRole::Copy(StateShard state) const {
  state.Add("model.", StateOf(*parts_.network));
  state.Add("ema.", StateOf(*parts_.average));
  state.Add("optimizer.", parts_.optimizer->State());
  if (parts_.scaler) state.Add("scaler.", parts_.scaler->State());
  state.Add("", options_.compute_choice);
  return state.Copy();
}

void GeneratorRole::ReportRound() {
  RoundMetrics metrics;
  metrics.set_role(GENERATOR);
  metrics.set_rank(options_.rank);
  metrics.set_round(round_);
  metrics.set_gradient_norm(update_.gradient_norm());
  metrics.set_learning_rate(parts_.optimizer->learning_rate());
  if (parts_.scaler) {
    metrics.set_loss_scale(parts_.scaler->scale());
    metrics.set_updates_skipped(parts_.scaler->skipped());
  }
  int64_t images = 0;
  for (const MicroBatch& batch : micro_batches_) images += batch.range.count;
  metrics.set_images(images);
  // A loss is this rank's share of that of the batch; what is shown is a mean.
  metrics.set_loss(loss_sum_ *
                   (static_cast<double>(options_.schedule.generator_batch) /
                    static_cast<double>(images)));
  if (parts_.synchronizer) metrics.set_drift(parts_.synchronizer->drift());
  // Rounds between this step and the critic that judged it, 0: the critic had
  // seen this round's images.
  metrics.set_lag(round_ + 1 -
                  critic_used_ /
                      options_.schedule.discriminator_steps_per_round);
  metrics.set_workers(options_.fleet_size);
  if (parts_.write_samples) {
    const TraceSpan span("sample grid");
    metrics.set_sample_grid(parts_.write_samples(round_ + 1, *parts_.average));
  }
  timer_.EndRound(metrics);
  if (services_.report) services_.report(metrics);
}

}  // namespace gandem
