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

// For tests: a flipped bit, as of a faulty memory. It is a low one of the
// fraction, so that the value stays finite.
void DamageParameterIfArmed(const at::Tensor& parameter) {
  const auto at = FailpointDamages("update.parameters", parameter.nbytes());
  if (!at.has_value()) return;
  const size_t byte = *at / parameter.element_size() * parameter.element_size();
  auto* const bytes = static_cast<unsigned char*>(parameter.data_ptr());
  bytes[byte] = WithWrongBit(bytes[byte], /*at=*/0);
}

}  // namespace

RoundRole::RoundRole(Role role, int64_t steps_per_round, RoleOptions options,
                     RoleServices services, const Trained& trained)
    : options_(std::move(options)),
      services_(std::move(services)),
      role_(role),
      steps_per_round_(steps_per_round),
      trained_(trained),
      noise_(trained.network, trained.scaler),
      round_(options_.first_round),
      updates_(round_ * steps_per_round),
      saved_rounds_(options_.saved_rounds),
      timer_(services_.fleet, services_.waits),
      health_(role) {}

absl::StatusOr<AdvanceResult> RoundRole::Advance(absl::Time deadline) {
  UseThreads(options_.compute);
  const KernelScope kernels(options_.compute);
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
  shard.Add("", options_.compute_choice);
  AddMore(shard);
  return shard;
}

absl::Status RoundRole::SaveIfDue() {
  if (services_.checkpoints == nullptr || round_ <= saved_rounds_ ||
      !options_.checkpoints.Due(round_, *services_.gate)) {
    return absl::OkStatus();
  }
  const TraceSpan span("checkpoint capture", {"rounds", round_});
  const torch::NoGradGuard no_grad;
  const StateShard shard =
      WithState(services_.saves_whole_state
                    ? StateShard(0, 1)
                    : StateShard(options_.rank, options_.fleet_size));
  if (const std::string name = shard.FirstInfinite(); !name.empty()) {
    return absl::OutOfRangeError(absl::StrCat("round ", round_ - 1, ": ", name,
                                              " is not finite after it"));
  }
  const std::string file = ShardName(RoleName(role_), options_.rank);
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
  if (options_.rank == 0 && !health_.has_begun()) {
    health_.Begin(round_, TrainedParametersOf(*trained_.network));
  }
  return true;
}

// The last step of a round is measured.
void RoundRole::BeginNoiseOfStep() {
  const int64_t every = options_.noise_scale_every_rounds;
  noise_.BeginStep(every > 0 && (round_ + 1) % every == 0 &&
                       (updates_ + 1) % steps_per_round_ == 0,
                   options_.step_batch);
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
  // The gradient of a loss that is not finite may be: that of a hinge, say. A
  // loss scale skips what leaves the range of float16.
  if (updated.ok() && trained_.scaler == nullptr &&
      !std::isfinite(loss.Value())) {
    updated = absl::OutOfRangeError("the loss is not finite");
  }
  return absl::IsOutOfRange(updated)
             ? Annotate(updated, absl::StrCat("round ", round_))
             : updated;
}

// Called again after a deadline, when gradients may be sums in part.
absl::Status RoundRole::Reduce(GradientSynchronizer& synchronizer,
                               absl::Time deadline) {
  // A noise scale is that of the first update.
  const bool sums = synchronizer.sums_gradients() && !is_second_;
  if (!std::exchange(is_reducing_, true) && sums) {
    noise_.BeforeSum(RankImages(options_.step_batch, options_.step_batches,
                                options_.rank, options_.fleet_size));
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
      UpdateNetwork(*trained_.network, options_.clip_gradient_norm,
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
  if (options_.rank != 0) return;
  const int64_t skipped = metrics.updates_skipped() -
                          std::exchange(skipped_, metrics.updates_skipped());
  health_.EndRound(/*has_updated=*/skipped < steps_per_round_, metrics);
  if (options_.ends_on_health_warning && !metrics.health().empty()) {
    unhealthy_ = absl::OutOfRangeError(metrics.health(0).text());
  }
}

void RoundRole::EndRound(RoundMetrics metrics) {
  metrics.set_role(role_);
  metrics.set_rank(options_.rank);
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
  metrics.set_workers(options_.fleet_size);
  noise_.AddTo(metrics);
  timer_.EndRound(metrics);
  JudgeHealth(metrics);
  if (services_.report) services_.report(metrics);
  ++round_;
  if (services_.waits != nullptr) services_.waits->EndRound(round_);
}

}  // namespace gandem
