// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/measure_client.h"

#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/monotonic_time.h"
#include "common/process/machine.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "proto/measure.grpc.pb.h"

namespace gandem {
namespace {

// Polling interval, in which a process can write about 100 MB.
constexpr absl::Duration kLookEvery = absl::Milliseconds(10);
constexpr int kLastLines = 5;
// Time to wait for a process to end after its connections broke.
constexpr absl::Duration kDyingTime = absl::Seconds(2);

// Message of the call and of Look(); either may notice the deadline first.
constexpr char kTooLate[] = "no answer before the deadline";

void Pause() { absl::SleepFor(kLookEvery); }

Probe::Outcome OutcomeOf(const absl::Status& failure) {
  switch (failure.code()) {
    case absl::StatusCode::kResourceExhausted:
      return Probe::OUT_OF_MEMORY;
    case absl::StatusCode::kDeadlineExceeded:
      return Probe::TIMED_OUT;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
      return Probe::DIED;
    default:
      return Probe::REFUSED;
  }
}

}  // namespace

struct MeasureClient::Rpc {
  explicit Rpc(std::shared_ptr<grpc::Channel> channel)
      : stub(Measuring::NewStub(std::move(channel))) {}

  const std::unique_ptr<Measuring::Stub> stub;
  UnaryCalls calls{"the call was given up"};
};

absl::StatusOr<std::unique_ptr<MeasureClient>> MeasureClient::Start(
    Options options) {
  const std::string address =
      absl::StrCat("unix:", options.folder, "/", options.name);
  GANDEM_ASSIGN_OR_RETURN(std::vector<std::string> arguments,
                          WorkerCommand(options.program, options.role));
  arguments.insert(arguments.end(),
                   {"--profile", address, "--token_file", options.token_file});
  auto process = ChildProcess::Start(
      {.arguments = std::move(arguments),
       .log_path = absl::StrCat(options.folder, "/", options.name, ".log"),
       .cores = options.cores});
  GANDEM_RETURN_IF_ERROR(process);
  GANDEM_ASSIGN_OR_RETURN(auto channel, CreateChannel(address, {}));
  return std::unique_ptr<MeasureClient>(
      new MeasureClient(std::move(options), *std::move(process),
                        std::make_unique<Rpc>(std::move(channel))));
}

MeasureClient::MeasureClient(Options options, ChildProcess process,
                             std::unique_ptr<Rpc> rpc)
    : options_(std::move(options)),
      process_(std::move(process)),
      rpc_(std::move(rpc)) {}

// Members are destroyed in reverse order: the call ends before its thread is
// joined, and the process is stopped last.
MeasureClient::~MeasureClient() { rpc_->calls.Cancel(/*for_good=*/true); }

template <typename Method, typename Request, typename Reply>
void MeasureClient::Ask(Method method, const Request& request,
                        absl::Time deadline, Reply* reply) {
  thread_.Join();
  given_up_.reset();
  {
    absl::MutexLock lock(&mu_);
    answer_.reset();
  }
  thread_ = Thread("measure call", [this, method, request, deadline, reply] {
    absl::StatusOr<Reply> answer =
        rpc_->calls.Call(*rpc_->stub, method, request, deadline);
    if (answer.ok()) *reply = *std::move(answer);
    absl::MutexLock lock(&mu_);
    answer_ = answer.status();
  });
}

void MeasureClient::Prepare(const PrepareRequest& request, absl::Time deadline,
                            PrepareReply* reply) {
  Ask(&Measuring::Stub::Prepare, request, deadline, reply);
}

void MeasureClient::Measure(const MeasureRequest& request, absl::Time deadline,
                            MeasureReply* reply) {
  Ask(&Measuring::Stub::Measure, request, deadline, reply);
}

void MeasureClient::Transfer(const TransferRequest& request,
                             absl::Time deadline, TransferReply* reply) {
  Ask(&Measuring::Stub::Transfer, request, deadline, reply);
}

absl::StatusOr<std::vector<MeasureClient::End>> MeasureClient::Wait(
    std::span<const std::unique_ptr<MeasureClient>> workers,
    absl::Time deadline, const std::function<bool()>& interrupted) {
  bool stopped = false;
  while (true) {
    bool all_ended = true;
    bool one_failed = false;
    for (const auto& worker : workers) {
      all_ended = worker->Look(deadline) && all_ended;
      one_failed = one_failed || worker->HasFailed();
    }
    if (all_ended) break;
    stopped = stopped || interrupted();
    // If one worker failed, the others may wait for it forever: stop them.
    if (stopped || one_failed) {
      for (const auto& worker : workers) {
        worker->GiveUp({.outcome = Probe::REFUSED,
                        .message = "the worker beside it failed"});
      }
    }
    Pause();
  }
  std::vector<End> ends;
  for (const auto& worker : workers) {
    ends.push_back(worker->EndOfCall());
  }
  if (stopped) return absl::CancelledError("stopped; the same command resumes");
  return ends;
}

bool MeasureClient::HasFailed() {
  absl::MutexLock lock(&mu_);
  return given_up_.has_value() || (answer_.has_value() && !answer_->ok());
}

bool MeasureClient::Look(absl::Time deadline) {
  {
    absl::MutexLock lock(&mu_);
    if (answer_.has_value()) return true;
  }
  if (given_up_.has_value()) return false;  // the call is about to end
  const std::optional<ProcessEnd> end = process_.Poll();
  if (end.has_value()) {
    GiveUp(EndOfProcess(*end));
    return false;
  }
  const int64_t bytes = ResidentMemory(process_.pid()).now_bytes;
  if (options_.memory_bytes > 0 && bytes > options_.memory_bytes) {
    GiveUp(
        {.outcome = Probe::OUT_OF_MEMORY,
         .message = absl::StrCat("it used ", bytes >> 20, " MiB, its limit is ",
                                 options_.memory_bytes >> 20, " MiB")});
  } else if (MonotonicNow() > deadline) {
    GiveUp({.outcome = Probe::TIMED_OUT, .message = kTooLate});
  }
  return false;
}

void MeasureClient::GiveUp(End end) {
  {
    absl::MutexLock lock(&mu_);
    if (given_up_.has_value() || answer_.has_value()) return;
  }
  given_up_ = std::move(end);
  process_.Signal(SIGKILL);
  rpc_->calls.Cancel(/*for_good=*/true);
}

MeasureClient::End MeasureClient::EndOfCall() {
  thread_.Join();
  if (given_up_.has_value()) return *given_up_;
  absl::Status answer;
  {
    absl::MutexLock lock(&mu_);
    answer = *answer_;
  }
  if (answer.ok()) return {};
  const Probe::Outcome outcome = OutcomeOf(answer);
  if (outcome == Probe::TIMED_OUT) {
    return {.outcome = outcome, .message = kTooLate};
  }
  // The connections of a dying process break before the process is gone.
  const absl::Time deadline = MonotonicNow() + kDyingTime;
  while (outcome == Probe::DIED && MonotonicNow() < deadline) {
    const std::optional<ProcessEnd> end = process_.Poll();
    if (end.has_value()) return EndOfProcess(*end);
    Pause();
  }
  return {.outcome = outcome,
          .message = answer.message().empty()
                         ? absl::StatusCodeToString(answer.code())
                         : std::string(answer.message())};
}

MeasureClient::End MeasureClient::EndOfProcess(const ProcessEnd& end) const {
  return {.outcome = Probe::DIED,
          .message = absl::StrCat("it ", end.description, LastWords())};
}

std::string MeasureClient::LastWords() const {
  const std::string tail = process_.LogTail(kLastLines);
  std::string last;
  for (const absl::string_view line : absl::StrSplit(tail, '\n')) {
    if (!line.empty()) last = std::string(line);
  }
  return last.empty() ? "" : absl::StrCat("; its last line: ", last);
}

}  // namespace gandem
