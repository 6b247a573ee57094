// SPDX-License-Identifier: Apache-2.0
#include "common/control/control_client.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/control/numerics.h"
#include "common/faults.h"
#include "common/monotonic_time.h"
#include "common/process/failpoint.h"
#include "common/process/host_identity.h"
#include "common/process/log.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/rpc/why_no_answer.h"
#include "common/security/credentials.h"
#include "common/status.h"
#include "common/version.h"
#include "proto/control.grpc.pb.h"

namespace gandem {
namespace {

// Returns whether the coordinator did not answer in time (retry).
bool IsSilence(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// FAILED_PRECONDITION of proto/control.proto: this process must exit.
absl::Status FromCoordinator(absl::Status result) {
  if (absl::IsFailedPrecondition(result)) {
    return absl::AbortedError(result.message());
  }
  if (absl::IsUnauthenticated(result)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the coordinator refused the token of '",
        ProcessCredentials()->token_file,
        "': pass --token_file with RUN_DIR/state/token of this run"));
  }
  // Messages of other processes fill the coordinator's memory at the moment.
  if (absl::IsResourceExhausted(result)) {
    return absl::UnavailableError(absl::StrCat(
        "the coordinator has no room for the call: ", result.message()));
  }
  return result;
}

// Logs occasionally during a long wait.
class WaitingNotice {
 public:
  explicit WaitingNotice(std::string what) : what_(std::move(what)) {}

  void Say(absl::string_view why) {
    const absl::Time now = MonotonicNow();
    if (now - last_ < kNoticeInterval) return;
    last_ = now;
    GANDEM_LOG_INFO("waiting for {}, since {} s: {}", what_,
                    absl::ToInt64Seconds(now - start_), std::string(why));
  }

 private:
  static constexpr absl::Duration kNoticeInterval = absl::Seconds(5);

  const std::string what_;
  const absl::Time start_ = MonotonicNow();
  absl::Time last_ = start_;
};

// A call without a connection fails with a bare DEADLINE_EXCEEDED.
std::string WhyNotYet(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) ? "nobody answers"
                                          : std::string(status.message());
}

constexpr char kShuttingDown[] = "the worker is shutting down";

void LogDamage(bool is_outgoing) {
  GANDEM_LOG_WARN("a message {} the coordinator arrived damaged",
                  is_outgoing ? "to" : "from");
}

}  // namespace

struct ControlClient::Rpc {
  Rpc(absl::string_view address, const std::shared_ptr<grpc::Channel>& channel)
      : stub(address, channel), calls(kShuttingDown, &LogDamage) {}

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(UnaryMethod<Control::Stub, Request, Reply> method,
                             const Request& request, absl::Time deadline) {
    auto reply = calls.CheckedCall(stub, method, request, deadline);
    if (!reply.ok()) return FromCoordinator(reply.status());
    return reply;
  }

  ReconnectingStub<Control> stub;
  UnaryCalls calls;
};

absl::StatusOr<std::unique_ptr<ControlClient>> ControlClient::Create(
    Options options) {
  Faults faults("control client");
  if (options.role == ROLE_UNKNOWN) faults.Add("role is required");
  faults.CheckRange("rank", options.rank, 0, 1 << 20);
  faults.CheckRange("call_timeout", options.call_timeout, absl::Milliseconds(1),
                    absl::Hours(1));
  faults.CheckRange("retry_interval", options.retry_interval,
                    absl::Milliseconds(1), absl::Minutes(1));
  const auto channel = CreateChannel(options.address, RpcOptions());
  if (!channel.ok()) faults.Add(std::string(channel.status().message()));
  if (!faults.empty()) return faults.ToStatus();
  auto rpc = std::make_unique<Rpc>(options.address, *channel);
  return std::unique_ptr<ControlClient>(
      new ControlClient(std::move(options), std::move(rpc)));
}

ControlClient::ControlClient(Options options, std::unique_ptr<Rpc> rpc)
    : options_(std::move(options)), rpc_(std::move(rpc)) {}

ControlClient::~ControlClient() = default;

RegisterRequest ControlClient::NewRegistration() const {
  RegisterRequest request;
  request.set_role(options_.role);
  request.set_rank(options_.rank);
  const HostIdentity host = ThisHost();
  request.set_host(host.name);
  request.set_host_identity(host.text);
  request.set_pid(getpid());
  request.set_binary_version(std::string(GandemVersion()));
  const Numerics numerics = ProcessNumerics();
  request.mutable_numerics()->insert(numerics.begin(), numerics.end());
  absl::MutexLock lock(&mu_);
  request.set_previous_incarnation(incarnation_);
  return request;
}

absl::Status ControlClient::WaitToRetry(absl::Time deadline,
                                        const absl::Status& last) {
  const absl::Time next = MonotonicNow() + options_.retry_interval;
  if (!rpc_->calls.WaitUntil(std::min(next, deadline))) {
    return absl::CancelledError(kShuttingDown);
  }
  if (next < deadline) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("no coordinator at ", options_.address,
                   " in time: ", std::string(last.message())));
}

absl::Time ControlClient::EndOfTry(absl::Time deadline) const {
  return std::min(deadline, MonotonicNow() + options_.call_timeout);
}

absl::StatusOr<RegisterReply> ControlClient::TryRegister(
    const RegisterRequest& request, absl::Time deadline) {
  GANDEM_FAILPOINT("control.before_register");
  auto reply =
      rpc_->Call(&Control::Stub::Register, request, EndOfTry(deadline));
  if (!reply.ok()) return reply;
  GANDEM_FAILPOINT("control.registered");
  absl::MutexLock lock(&mu_);
  incarnation_ = reply->incarnation();
  run_epoch_ = reply->run_epoch();
  return reply;
}

absl::StatusOr<RegisterReply> ControlClient::Register(
    absl::Time deadline, std::optional<int64_t> held_rounds) {
  RegisterRequest request = NewRegistration();
  if (held_rounds.has_value()) {
    request.set_holds_state(true);
    request.set_round(*held_rounds);
  }
  WaitingNotice notice(absl::StrCat("the coordinator at ", options_.address));
  absl::Status last;
  do {
    auto reply = TryRegister(request, deadline);
    if (reply.ok() || !IsSilence(reply.status())) return reply;
    last = reply.status();
    if (absl::IsDeadlineExceeded(last)) {
      last = absl::DeadlineExceededError(
          WhyNoAnswer(options_.address, *ProcessCredentials(),
                      MonotonicNow() + kLookForReason));
    }
    notice.Say(last.message());
  } while ((last = WaitToRetry(deadline, last)).ok());
  return last;
}

template <typename Request>
void ControlClient::SayWho(Request& request) const {
  absl::MutexLock lock(&mu_);
  request.set_incarnation(incarnation_);
  request.set_run_epoch(run_epoch_);
}

absl::StatusOr<JoinReply> ControlClient::Join(JoinRequest request,
                                              absl::Time deadline) {
  SayWho(request);
  WaitingNotice notice("the other workers");
  absl::Status last;
  do {
    GANDEM_FAILPOINT("control.before_join");
    auto reply = rpc_->Call(&Control::Stub::Join, request, EndOfTry(deadline));
    if (absl::IsNotFound(reply.status())) {  // a new coordinator
      JoinReply again;
      again.set_epoch_superseded(true);
      return again;
    }
    if (!reply.ok() && !IsSilence(reply.status())) return reply;
    if (reply.ok() &&
        (reply->all_joined() || reply->epoch_superseded() || reply->leave())) {
      GANDEM_FAILPOINT("control.joined");
      return reply;
    }
    last = reply.ok() ? absl::UnavailableError("other workers are not ready")
                      : reply.status();
    notice.Say(WhyNotYet(last));
  } while ((last = WaitToRetry(deadline, last)).ok());
  return last;
}

absl::StatusOr<HeartbeatReply> ControlClient::Heartbeat(
    HeartbeatRequest request) {
  SayWho(request);
  GANDEM_FAILPOINT("control.before_heartbeat");
  auto reply = rpc_->Call(&Control::Stub::Heartbeat, request,
                          EndOfTry(absl::InfiniteFuture()));
  GANDEM_FAILPOINT("control.heartbeat_answered");
  return reply;
}

absl::StatusOr<ShardReply> ControlClient::ReportShard(ShardReport report) {
  SayWho(report);
  GANDEM_FAILPOINT("control.before_shard_report");
  auto reply = rpc_->Call(&Control::Stub::ReportShard, report,
                          EndOfTry(absl::InfiniteFuture()));
  GANDEM_FAILPOINT("control.shard_reported");
  return reply;
}

void ControlClient::Cancel() { rpc_->calls.Cancel(/*for_good=*/true); }

void ControlClient::CancelCalls() { rpc_->calls.Cancel(/*for_good=*/false); }

}  // namespace gandem
