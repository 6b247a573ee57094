// SPDX-License-Identifier: Apache-2.0
#include "common/control/heartbeats.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/control/limits.h"
#include "common/control/majority.h"
#include "common/monotonic_time.h"
#include "common/process/exit_code.h"
#include "common/process/log.h"
#include "common/process/machine.h"
#include "common/status.h"

namespace gandem {
namespace {

// Limit for checkpoints_lag(). A crash can lose two checkpoints more.
constexpr size_t kMaxUnsettledShards = 4;
// A stopping worker gives up on a missing coordinator after this time, long
// enough for a restart of the coordinator.
constexpr absl::Duration kStopPatience = absl::Seconds(10);

void SetFailure(const absl::Status& failure, HeartbeatRequest& request) {
  const ExitCode code = WorkerExitCodeOf(failure);
  request.set_failure(
      code == kExitDiverged
          ? absl::StrCat("has diverged: ", failure.message())
          : failure.ToString(absl::StatusToStringMode::kWithNoExtraData));
  request.set_failure_exit_code(code);
  request.set_states_differ(StatesDiffer(failure));
}

}  // namespace

Heartbeats::Heartbeats(ControlClient* client, Options options)
    : client_(client),
      options_(std::move(options)),
      last_answer_(MonotonicNow()),
      thread_("heartbeats", [this] { Run(); }) {}

Heartbeats::~Heartbeats() {
  absl::MutexLock lock(&mu_);
  stop_ = true;
  // Repeated because a call may start right after the cancellation.
  while (!ended_) {
    mu_.Unlock();
    client_->CancelCalls();
    mu_.Lock();
    AwaitUntil(&mu_, absl::Condition(&ended_),
               MonotonicNow() + absl::Milliseconds(20));
  }
}

void Heartbeats::AddMetrics(RoundMetrics metrics) {
  absl::MutexLock lock(&mu_);
  if (static_cast<int64_t>(metrics_.size()) >= options_.max_queued_metrics) {
    ++metrics_dropped_;
    return;
  }
  metrics.set_records_dropped(metrics.records_dropped() +
                              std::exchange(metrics_dropped_, 0));
  metrics_.push_back(std::move(metrics));
}

void Heartbeats::AddShard(ShardReport report) {
  absl::MutexLock lock(&mu_);
  unsent_shards_.push_back(std::move(report));
  wake_ = true;
}

bool Heartbeats::checkpoints_lag() {
  absl::MutexLock lock(&mu_);
  return is_answered_ &&
         unsent_shards_.size() + unsettled_steps_.size() >= kMaxUnsettledShards;
}

void Heartbeats::NoteSettled(int64_t settled_step) {
  while (!unsettled_steps_.empty() &&
         unsettled_steps_.front() <= settled_step) {
    unsettled_steps_.pop_front();
  }
}

void Heartbeats::Wake() {
  absl::MutexLock lock(&mu_);
  wake_ = true;
}

void Heartbeats::ReportFailure(const absl::Status& failure,
                               absl::Time deadline) {
  GANDEM_CHECK(!failure.ok());
  absl::MutexLock lock(&mu_);
  if (failure_.ok()) failure_ = failure;
  wake_ = true;
  const auto done = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return failure_settled_ || ended_;
  };
  AwaitUntil(&mu_, absl::Condition(&done), deadline);
}

void Heartbeats::Run() {
  GANDEM_CHECK(options_.waits != nullptr);
  GANDEM_CHECK(options_.state && options_.on_reply && options_.on_end);
  absl::Status end;
  while (true) {
    const absl::Time next = MonotonicNow() + options_.interval;
    end = Beat();
    absl::MutexLock lock(&mu_);
    if (!end.ok() || stop_ || failure_settled_) break;
    const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
      return wake_ || stop_;
    };
    AwaitUntil(&mu_, absl::Condition(&due), next);
    if (stop_) break;
    wake_ = false;
  }
  if (!end.ok()) options_.on_end(end);
  absl::MutexLock lock(&mu_);
  ended_ = true;
}

absl::Status Heartbeats::Beat() {
  // Progress is read first, so that reports queued before it are sent first.
  const WorkerState state = options_.state();
  const std::string notice = options_.waits->Notice();
  if (!notice.empty()) GANDEM_LOG_INFO("{}", notice);
  absl::Status status = SendShards();
  if (status.ok()) status = SendHeartbeat(state);
  {
    absl::MutexLock lock(&mu_);
    if (stop_) return absl::OkStatus();
    is_answered_ = status.ok();
  }
  if (!status.ok()) return Recover(status, state.stop_requested);
  last_answer_ = MonotonicNow();
  return absl::OkStatus();
}

absl::Status Heartbeats::SendShards() {
  // Sends only the records present now: more may be added as fast as they are
  // sent, which would delay the heartbeat.
  size_t left = 0;
  {
    absl::MutexLock lock(&mu_);
    left = unsent_shards_.size();
  }
  for (; left > 0; --left) {
    ShardReport report;
    {
      absl::MutexLock lock(&mu_);
      report = unsent_shards_.front();
    }
    const auto reply = client_->ReportShard(report);
    // A refused report is a bug of gandem, but no reason to stop training.
    if (absl::IsInvalidArgument(reply.status())) {
      GANDEM_LOG_ERROR("the checkpoint of {} rounds was refused: {}",
                       report.step(), reply.status());
    } else {
      GANDEM_RETURN_IF_ERROR(reply);
    }
    absl::MutexLock lock(&mu_);
    if (reply.ok()) {
      unsettled_steps_.push_back(unsent_shards_.front().step());
      NoteSettled(reply->settled_step());
    }
    unsent_shards_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status Heartbeats::SendHeartbeat(const WorkerState& state) {
  HeartbeatRequest request;
  request.set_started_round(state.started_round);
  request.set_completed_rounds(state.completed_rounds);
  request.set_paused(state.paused);
  request.set_stop_requested(state.stop_requested);
  request.set_finished(state.finished);
  *request.mutable_position() = options_.waits->Position();
  request.set_resident_bytes(ResidentMemory().now_bytes);
  size_t num_metrics = 0;
  bool is_last = false;
  {
    absl::MutexLock lock(&mu_);
    num_metrics = std::min<size_t>(metrics_.size(), kMaxMetricsPerHeartbeat);
    for (size_t i = 0; i < num_metrics; ++i) {
      *request.add_metrics() = metrics_[i];
    }
    // Requests go with the last metrics, as the reply may end this worker.
    const bool is_all = num_metrics == metrics_.size();
    if (!is_all) {
      request.set_paused(false);
      request.set_finished(false);
      wake_ = true;
    }
    is_last = !failure_.ok() && is_all;
    if (is_last) {
      SetFailure(failure_, request);
    }
  }
  const auto reply = client_->Heartbeat(request);
  GANDEM_RETURN_IF_ERROR(reply);
  {
    absl::MutexLock lock(&mu_);
    // The coordinator ignores metrics of an ended epoch.
    if (!reply->epoch_superseded()) {
      metrics_.erase(metrics_.begin(), metrics_.begin() + num_metrics);
    } else {
      wake_ = false;
    }
    NoteSettled(reply->settled_step());
  }
  // Called before ReportFailure returns. A failed worker leaves anyway.
  if (!is_last || reply->epoch_superseded()) options_.on_reply(*reply);
  absl::MutexLock lock(&mu_);
  failure_settled_ = is_last;
  return absl::OkStatus();
}

absl::Status Heartbeats::Recover(const absl::Status& error,
                                 bool stop_requested) {
  if (absl::IsNotFound(error)) {  // a new coordinator answered
    last_answer_ = MonotonicNow();
    HeartbeatReply superseded;
    superseded.set_epoch_superseded(true);
    options_.on_reply(superseded);
    absl::MutexLock lock(&mu_);
    failure_settled_ = !failure_.ok();
    return absl::OkStatus();
  }
  if (!absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error)) {
    return error;
  }
  const absl::Duration silence = MonotonicNow() - last_answer_;
  const absl::Duration patience =
      stop_requested ? std::min(kStopPatience, options_.give_up_after)
                     : options_.give_up_after;
  if (silence <= patience) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("no coordinator for ", absl::FormatDuration(silence), ": ",
                   std::string(error.message())));
}

}  // namespace gandem
