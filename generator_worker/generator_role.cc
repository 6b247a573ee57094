// SPDX-License-Identifier: Apache-2.0
#include "generator_worker/generator_role.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "models/torch.h"
#include "training/objective/losses.h"

namespace gandem {

using Kind = GeneratorOp::Kind;

GeneratorRole::GeneratorRole(RunPlan plan, const EpochPlace& place, Parts parts,
                             GeneratorExchange* exchange, RoleServices services)
    : RoundRole(GENERATOR, std::move(plan), place, std::move(services),
                TrainedOf(parts)),
      parts_(std::move(parts)),
      exchange_(exchange),
      feedback_(MakeFeedbackTaker({.plan = plan_,
                                   .compute = parts_.compute,
                                   .new_critic = parts_.new_critic,
                                   .exchange = exchange_,
                                   .timer = timer()})) {}

RoundRole::StateParts GeneratorRole::State() const {
  StateParts state = {
      {"model.", StateOf(*parts_.network)},
      {"ema.", StateOf(*parts_.average), StateChanges::kInUpdates},
      {"optimizer.", parts_.optimizer->State(), StateChanges::kInUpdates}};
  if (parts_.path_penalty) {
    state.push_back({"path_length.", parts_.path_penalty->State()});
  }
  return state;
}

absl::StatusOr<AdvanceResult> GeneratorRole::Next(absl::Time deadline) {
  if (finished_) return AdvanceResult::kFinished;
  if (next_op_ == ops_.size()) return BetweenRounds(deadline);
  GANDEM_RETURN_IF_ERROR(Execute(ops_[next_op_], deadline));
  ++next_op_;
  return AdvanceResult::kAdvanced;
}

absl::StatusOr<AdvanceResult> GeneratorRole::BetweenRounds(
    absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const bool begun, BeginRound(deadline));
  if (!begun) {
    NoteWait(WorkerPosition::FINISH, DISCRIMINATOR);
    GANDEM_RETURN_IF_ERROR(exchange_->Finish(deadline));
    finished_ = true;
    return AdvanceResult::kFinished;
  }
  ops_ = GeneratorRound(plan_.schedule(), round(), place_.rank,
                        plan_.generator.workers);
  next_op_ = 0;
  micro_batches_.clear();
  loss_sum_ = {};
  meter_.reset();
  if (MeasuresImages()) meter_.emplace();
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
    case Kind::kSendForward:
      return Send(plan_.schedule().StepImageUse(), op.range, deadline);
    case Kind::kTakeCritic:
    case Kind::kTakeFeedback:
      return feedback_->Take(op, round(), deadline);
    case Kind::kBackward:
      return Backward(op);
    case Kind::kUpdate:
      return EndStep(deadline);
  }
  return absl::InternalError("unknown generator operation");
}

absl::Status GeneratorRole::MakeImages(const GeneratorOp& op) {
  const TraceSpan span("make images", {"images", op.range.count});
  torch::NoGradGuard no_grad;
  const int64_t step =
      round() * plan_.schedule().discriminator_steps_per_round + op.step;
  // Noise and conditions count indices within the discriminator step.
  IndexRange range = op.range;
  range.first -= op.step * plan_.schedule().discriminator_batch;
  const at::Tensor noise_NZ =
      parts_.noise(Purpose::kDiscriminatorNoise, step, range);
  GANDEM_ASSIGN_OR_RETURN(
      const Condition condition,
      parts_.condition(Purpose::kDiscriminatorNoise, step, range));
  const DrawPlace place = {.purpose = Purpose::kDiscriminatorNoise,
                           .step = step,
                           .first_index = range.first};
  outgoing_ = PackImages(parts_.network->forward(noise_NZ, condition.At(place),
                                                 ForwardMode::kFrozen),
                         plan_.exchange.image_format);
  return absl::OkStatus();
}

absl::Status GeneratorRole::Forward(const GeneratorOp& op) {
  const TraceSpan span("forward", {"images", op.range.count});
  const at::Tensor noise_NZ =
      parts_.noise(Purpose::kGeneratorNoise, round(), op.range);
  GANDEM_ASSIGN_OR_RETURN(
      RealImages given,
      ReadConditions(parts_.condition, parts_.pairs.get(),
                     Purpose::kGeneratorNoise, round(), op.range));
  at::Tensor targets_NCHW;
  if (plan_.objective.paired_l1 > 0) {
    GANDEM_CHECK(parts_.pairs != nullptr);
    targets_NCHW = std::move(given.images_NCHW);
  }
  given.condition.place = {.purpose = Purpose::kGeneratorNoise,
                           .step = round(),
                           .first_index = op.range.first};
  at::Tensor images_NCHW =
      parts_.network->forward(noise_NZ, given.condition, ForwardMode::kTrain);
  if (meter_.has_value()) meter_->AddImages(images_NCHW);
  if (plan_.schedule().SendsStepImages()) {
    outgoing_ = PackImages(images_NCHW, plan_.exchange.image_format);
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
                         .round = round(),
                         .first_index = range.first,
                         .count = range.count,
                         .generator_version = round(),
                         .format = plan_.exchange.image_format,
                         .pixels = outgoing_};
  GANDEM_RETURN_IF_ERROR(timer()->Timed(
      RoundTimer::kCache, {WorkerPosition::ROOM, DISCRIMINATOR},
      [this] { return exchange_->waits_for(); },
      [&] { return exchange_->PutImages(batch, deadline); }));
  outgoing_ = SharedBytes();
  GANDEM_FAILPOINT("generator.after_send");
  return absl::OkStatus();
}

absl::Status GeneratorRole::PenalizePaths(int64_t at_once) {
  const int64_t images = plan_.schedule().generator_batch /
                         plan_.objective.path_length.batch_shrink;
  const IndexRange own =
      RankSlice(images, place_.rank, plan_.generator.workers);
  const TraceSpan span("path lengths", {"images", own.count});
  const auto input = [this](IndexRange range) -> absl::StatusOr<PathInput> {
    // Labels are those of the step's own images.
    GANDEM_ASSIGN_OR_RETURN(
        const Condition condition,
        parts_.condition(Purpose::kGeneratorNoise, round(), range));
    return PathInput{
        .noise_NZ = parts_.noise(Purpose::kPathLength, round(), range),
        .condition = condition.At({.purpose = Purpose::kPathLength,
                                   .step = round(),
                                   .first_index = range.first}),
        .direction_NV =
            parts_.path_direction(Purpose::kPathDirection, round(), range)};
  };
  return parts_.path_penalty->Backward(
      {.network = *parts_.network,
       .images = images,
       .ranges = MicroBatches(own, at_once),
       .fleet = parts_.fleet.get(),
       .input = input,
       .expect_last_backward = [this] { ExpectLastBackward(); },
       .backward =
           [this](const at::Tensor& loss) {
             loss_sum_.Add(loss);
             (parts_.scaler ? parts_.scaler->Scale(loss) : loss).backward();
           }});
}

absl::Status GeneratorRole::Backward(const GeneratorOp& op) {
  // In ascending order, for any order of arrival.
  MicroBatch& batch =
      *std::ranges::find(micro_batches_, op.range, &MicroBatch::range);
  Judgment judgment = feedback_->Judge({.images_NCHW = batch.images_NCHW,
                                        .condition = batch.condition,
                                        .round = round(),
                                        .first_index = batch.range.first});
  at::Tensor& gradient_NCHW = judgment.gradient_NCHW;
  if (const double weight = plan_.objective.paired_adversarial; weight != 1) {
    gradient_NCHW.mul_(weight);
    judgment.loss.Scale(weight);
  }
  loss_sum_.Add(judgment.loss);
  if (meter_.has_value()) {
    meter_->AddGradient(gradient_NCHW, plan_.schedule().generator_batch);
  }
  if (batch.targets_NCHW.defined()) {
    loss_sum_.Add(AddPairedL1(batch.images_NCHW, batch.targets_NCHW,
                              plan_.objective.paired_l1,
                              plan_.schedule().generator_batch, gradient_NCHW));
  }
  if (ops_[next_op_ + 1].kind == Kind::kUpdate) {
    if (PathsAreDue() && !plan_.objective.path_length.separate) {
      GANDEM_RETURN_IF_ERROR(PenalizePaths(op.range.count));
    }
    ExpectLastBackward();
  }
  const TraceSpan span("backward", {"images", op.range.count});
  MeasuredBackward(GradientNoise::GENERATED, op.range.count, [&] {
    batch.images_NCHW.backward(
        parts_.scaler ? parts_.scaler->Scale(gradient_NCHW) : gradient_NCHW);
  });
  batch.images_NCHW = at::Tensor();  // frees the graph
  return absl::OkStatus();
}

absl::Status GeneratorRole::EndStep(absl::Time deadline) {
  const auto before = [] { GANDEM_FAILPOINT("generator.before_update"); };
  SecondUpdate second;
  if (PathsAreDue() && plan_.objective.path_length.separate) {
    second = [this] { return PenalizePaths(micro_batches_[0].range.count); };
  }
  GANDEM_RETURN_IF_ERROR(Update(loss_sum_, before, second, deadline));
  // Ranks without a common state have no average.
  if ((round() + 1) % plan_.generator.steps_to_agreement == 0) {
    const TraceSpan span("average");
    parts_.ema->Update(round());
  }
  GANDEM_FAILPOINT("generator.after_update");
  EndRound(Measured());
  return SaveIfDue();
}

RoundMetrics GeneratorRole::Measured() {
  RoundMetrics metrics;
  int64_t images = 0;
  for (const MicroBatch& batch : micro_batches_) images += batch.range.count;
  metrics.set_images(images);
  // A loss is this rank's share of the batch loss; metrics show the mean.
  metrics.set_loss(loss_sum_.Value() *
                   (static_cast<double>(plan_.schedule().generator_batch) /
                    static_cast<double>(images)));
  // Rounds between step and critic; 0: it trained on this round's images.
  metrics.set_lag(round() + 1 -
                  feedback_->critic_version() /
                      plan_.schedule().discriminator_steps_per_round);
  metrics.set_messages_damaged(exchange_->messages_damaged());
  if (meter_.has_value()) meter_->Report(metrics);
  if (parts_.write_samples) {
    const TraceSpan span("sample grid");
    metrics.set_sample_grid(parts_.write_samples(round() + 1, *parts_.average));
  }
  return metrics;
}

}  // namespace gandem
