// SPDX-License-Identifier: Apache-2.0
#include "training/roles/round_role.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint/checkpoint_shards.h"
#include "common/config/role_name.h"
#include "common/process/failpoint.h"
#include "common/status.h"
#include "common/trace/trace.h"
#include "models/torch.h"
#include "training/optimizers/gradients.h"

namespace gandem {
namespace {

// For tests: flips a low bit of the fraction, like faulty memory.
void DamageParameterIfArmed(const at::Tensor& parameter) {
  const auto at = FailpointDamages("update.parameters", parameter.nbytes());
  if (!at.has_value()) return;
  const size_t byte = *at / parameter.element_size() * parameter.element_size();
  auto* const bytes = static_cast<unsigned char*>(parameter.data_ptr());
  bytes[byte] = WithWrongBit(bytes[byte], /*at=*/0);
}

}  // namespace

RoundRole::RoundRole(Role role, RunPlan plan, const EpochPlace& place,
                     RoleServices services, Trained trained)
    : plan_(std::move(plan)),
      place_(place),
      services_(std::move(services)),
      role_(role),
      steps_per_round_(role_plan().optimizer_use.steps_per_round),
      trained_(std::move(trained)),
      noise_(trained_.network, trained_.scaler),
      round_(place.first_round),
      updates_(round_ * steps_per_round_),
      saved_rounds_(place.saved_rounds),
      timer_(services_.fleet, services_.waits),
      health_(role) {}

absl::StatusOr<AdvanceResult> RoundRole::Advance(absl::Time deadline) {
  UseThreads(trained_.compute);
  const KernelScope kernels(trained_.compute);
  absl::StatusOr<AdvanceResult> done = Next(deadline);
  if (absl::IsDeadlineExceeded(done.status())) return AdvanceResult::kWaiting;
  if (services_.waits != nullptr) services_.waits->End();
  return done;
}

void RoundRole::NoteWait(WorkerPosition::Wait what, Role whom) const {
  if (services_.waits != nullptr) services_.waits->Begin(what, whom);
}

RoleState RoundRole::Capture() const {
  return {.completed_rounds = round_,
          .updates = updates_ + (is_updated_ ? 1 : 0),
          .tensors = WithState(StateShard(0, 1)).Copy()};
}

TrainedBytes RoundRole::Size() const {
  return {.parameters = BytesOf(ParametersOf(*trained_.network)),
          .buffers = BytesOf(BuffersOf(*trained_.network)),
          .optimizer = BytesOf(trained_.optimizer->State())};
}

absl::Status RoundRole::Restore(const TensorReader& state) {
  for (const auto& [prefix, tensors, changes] : State()) {
    GANDEM_RETURN_IF_ERROR(state.Load(prefix, tensors));
  }
  if (trained_.scaler != nullptr) {
    GANDEM_RETURN_IF_ERROR(state.Load("scaler.", trained_.scaler->State()));
  }
  return RestoreMore(state);
}

StateShard RoundRole::WithState(StateShard shard) const {
  for (const auto& [prefix, tensors, changes] : State()) {
    shard.Add(prefix, tensors, changes);
  }
  if (trained_.scaler != nullptr) {
    shard.Add("scaler.", trained_.scaler->State());
  }
  shard.Add("", trained_.compute_choice);
  AddMore(shard);
  return shard;
}

bool RoundRole::SavesAfter(int64_t completed_rounds) const {
  const int64_t every_rounds = plan_.checkpoint_every_rounds;
  const RoundGate& gate = *services_.gate;
  return completed_rounds == plan_.rounds ||
         (every_rounds > 0 && completed_rounds % every_rounds == 0) ||
         (gate.has_cut() && completed_rounds == gate.last_round() + 1);
}

absl::Status RoundRole::SaveIfDue() {
  if (services_.checkpoints == nullptr || round_ <= saved_rounds_ ||
      !SavesAfter(round_)) {
    return absl::OkStatus();
  }
  const TraceSpan span("checkpoint capture", {"rounds", round_});
  const torch::NoGradGuard no_grad;
  const StateShard shard =
      WithState(services_.saves_whole_state
                    ? StateShard(0, 1)
                    : StateShard(place_.rank, role_plan().workers));
  if (const std::string name = shard.FirstInfinite(); !name.empty()) {
    return absl::OutOfRangeError(absl::StrCat("round ", round_ - 1, ": ", name,
                                              " is not finite after it"));
  }
  const std::string file = ShardName(RoleName(role_), place_.rank);
  NoteWait(WorkerPosition::CHECKPOINT);
  GANDEM_RETURN_IF_ERROR(services_.checkpoints->AwaitRoom(file));
  saved_rounds_ = round_;
  std::shared_ptr<TensorSnapshot> share = shard.Snapshot(buffers_);
  saving_ = share;
  return services_.checkpoints->Save(round_, file, std::move(share),
                                     shard.Checksums());
}

absl::StatusOr<bool> RoundRole::BeginRound(absl::Time deadline) {
  GANDEM_RETURN_IF_ERROR(unhealthy_);
  GANDEM_RETURN_IF_ERROR(SaveIfDue());
  NoteWait(WorkerPosition::GATE);
  switch (services_.gate->Start(round_, deadline)) {
    case RoundGate::Answer::kHold:
      return absl::DeadlineExceededError("the gate holds the next round");
    case RoundGate::Answer::kPastEnd:
      // The cut may have become known while waiting.
      GANDEM_RETURN_IF_ERROR(SaveIfDue());
      return false;
    case RoundGate::Answer::kStart:
      break;
  }
  trained_.optimizer->ZeroGradients();
  BeginNoiseOfStep();
  if (place_.rank == 0 && !health_.has_begun()) {
    health_.Begin(round_, TrainedParametersOf(*trained_.network));
  }
  return true;
}

// Measures the last step of a round.
void RoundRole::BeginNoiseOfStep() {
  const int64_t every = plan_.control.noise_scale_every_rounds;
  noise_.BeginStep(every > 0 && (round_ + 1) % every == 0 &&
                       (updates_ + 1) % steps_per_round_ == 0,
                   role_plan().step_batch);
}

void RoundRole::MeasuredBackward(GradientNoise::Part part, int64_t images,
                                 absl::FunctionRef<void()> backward) {
  noise_.BeforeBackward(part);
  backward();
  noise_.AfterBackward(images);
}

void RoundRole::ExpectLastBackward() {
  if (trained_.synchronizer != nullptr) {
    trained_.synchronizer->ExpectLastBackward();
  }
}

absl::Status RoundRole::Update(const DeviceSum& loss,
                               absl::FunctionRef<void()> before,
                               const SecondUpdate& second,
                               absl::Time deadline) {
  absl::Status updated = TryUpdate(before, second, deadline);
  // An infinite loss can have a finite gradient, for example with HINGE. With
  // loss scaling, updates that leave the range of float16 are skipped.
  if (updated.ok() && trained_.scaler == nullptr &&
      !std::isfinite(loss.Value())) {
    updated = absl::OutOfRangeError("the loss is not finite");
  }
  return absl::IsOutOfRange(updated)
             ? Annotate(updated, absl::StrCat("round ", round_))
             : updated;
}

// May be called again after a deadline, when some gradients are already sums.
absl::Status RoundRole::Reduce(GradientSynchronizer& synchronizer,
                               absl::Time deadline) {
  // The noise scale is measured in the first update of a step.
  const bool sums = synchronizer.sums_gradients() && !is_second_;
  if (!std::exchange(is_reducing_, true) && sums) {
    noise_.BeforeSum(RankImages(role_plan().step_batch,
                                role_plan().step_batches, place_.rank,
                                role_plan().workers));
  }
  GANDEM_RETURN_IF_ERROR(
      timer_.Timed(RoundTimer::kSync, {WorkerPosition::GRADIENTS, role_},
                   [&] { return synchronizer.Reduce(deadline); }));
  is_reducing_ = false;
  if (sums) noise_.AfterSum();
  return absl::OkStatus();
}

absl::StatusOr<double> RoundRole::UpdateOnce(absl::FunctionRef<void()> before,
                                             absl::Time deadline) {
  if (trained_.synchronizer != nullptr) {
    GANDEM_RETURN_IF_ERROR(Reduce(*trained_.synchronizer, deadline));
  }
  const TraceSpan span("update");
  before();
  if (const auto saving = saving_.lock()) saving->Detach();
  if (GANDEM_FAILPOINT_CORRUPTS("update.gradients")) {
    const torch::NoGradGuard no_grad;
    trained_.network->parameters().front().mutable_grad().fill_(NAN);
  }
  absl::StatusOr<double> norm =
      UpdateNetwork(*trained_.network, role_plan().clip_gradient_norm,
                    *trained_.optimizer, trained_.scaler);
  DamageParameterIfArmed(trained_.network->parameters().front());
  return norm;
}

absl::Status RoundRole::BeginSecondUpdate(const SecondUpdate& second) {
  trained_.optimizer->ZeroGradients();
  GANDEM_RETURN_IF_ERROR(second());
  for (const auto& [name, parameter] : TrainedParametersOf(*trained_.network)) {
    if (!parameter.grad().defined()) {
      parameter.mutable_grad() = at::zeros_like(parameter.detach());
    }
  }
  return absl::OkStatus();
}

absl::Status RoundRole::TryUpdate(absl::FunctionRef<void()> before,
                                  const SecondUpdate& second,
                                  absl::Time deadline) {
  GradientSynchronizer* const synchronizer = trained_.synchronizer;
  if (!is_updated_ && !is_second_) {
    GANDEM_ASSIGN_OR_RETURN(gradient_norm_, UpdateOnce(before, deadline));
    is_second_ = second != nullptr;
    if (is_second_) GANDEM_RETURN_IF_ERROR(BeginSecondUpdate(second));
  }
  if (is_second_) {
    GANDEM_RETURN_IF_ERROR(UpdateOnce([] {}, deadline).status());
    is_second_ = false;
  }
  is_updated_ = true;
  if (synchronizer != nullptr) {
    GANDEM_RETURN_IF_ERROR(timer_.Timed(
        RoundTimer::kSync, {WorkerPosition::GRADIENTS, role_},
        [&] { return synchronizer->AfterUpdate(updates_ + 1, deadline); }));
  }
  is_updated_ = false;
  ++updates_;
  if (updates_ % steps_per_round_ != 0) BeginNoiseOfStep();
  return absl::OkStatus();
}

void RoundRole::JudgeHealth(RoundMetrics& metrics) {
  if (place_.rank != 0) return;
  const int64_t skipped = metrics.updates_skipped() -
                          std::exchange(skipped_, metrics.updates_skipped());
  health_.EndRound(/*has_updated=*/skipped < steps_per_round_, metrics);
  if (plan_.control.ends_on_health_warning && !metrics.health().empty()) {
    unhealthy_ = absl::OutOfRangeError(metrics.health(0).text());
  }
}

void RoundRole::EndRound(RoundMetrics metrics) {
  metrics.set_role(role_);
  metrics.set_rank(place_.rank);
  metrics.set_round(round_);
  metrics.set_gradient_norm(gradient_norm_);
  metrics.set_learning_rate(trained_.optimizer->learning_rate());
  if (trained_.scaler != nullptr) {
    metrics.set_loss_scale(trained_.scaler->scale());
    metrics.set_updates_skipped(trained_.scaler->skipped());
  }
  if (trained_.synchronizer != nullptr) {
    metrics.set_drift(trained_.synchronizer->drift());
  }
  metrics.set_workers(role_plan().workers);
  noise_.AddTo(metrics);
  timer_.EndRound(metrics);
  JudgeHealth(metrics);
  if (services_.report) services_.report(metrics);
  ++round_;
  if (services_.waits != nullptr) services_.waits->EndRound(round_);
}

}  // namespace gandem
