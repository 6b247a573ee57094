// SPDX-License-Identifier: Apache-2.0
#include "common/control/measure_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/files/text_proto.h"
#include "common/monotonic_time.h"
#include "common/rpc/grpc_status.h"

namespace gandem {
namespace {

// A config as text, and a little.
constexpr int kMaxMeasureRequestBytes = kMaxTextProtoBytes + (64 << 10);
// Of callers that name no deadline.
constexpr absl::Duration kLongestMeasureCall = absl::Hours(1);
constexpr char kLeaving[] = "the worker is leaving";

absl::Time DeadlineOf(const grpc::ServerContext& context) {
  const absl::Duration left =
      absl::FromChrono(context.deadline()) - absl::Now();
  return MonotonicNow() + std::min(left, kLongestMeasureCall);
}

}  // namespace

// An answer that its caller may not wait for any more.
template <typename Reply>
class PendingAnswer {
 public:
  void Set(absl::StatusOr<Reply> result) {
    absl::MutexLock lock(&mu_);
    result_ = std::move(result);
  }
  absl::StatusOr<Reply> Wait(absl::Time deadline) {
    absl::MutexLock lock(&mu_);
    if (!AwaitUntil(&mu_, absl::Condition(this, &PendingAnswer::IsThere),
                    deadline)) {
      return absl::DeadlineExceededError("still computing");
    }
    return *std::move(result_);
  }

 private:
  bool IsThere() const ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return result_.has_value();
  }

  absl::Mutex mu_;
  std::optional<absl::StatusOr<Reply>> result_ ABSL_GUARDED_BY(mu_);
};

template <typename Request, typename Reply>
grpc::Status MeasureService::Answer(
    absl::StatusOr<Reply> (MeasureHandler::*method)(const Request&),
    const grpc::ServerContext& context, const Request& request, Reply* reply) {
  const auto answer = std::make_shared<PendingAnswer<Reply>>();
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) {
      return ToGrpcStatus(absl::CancelledError(kLeaving));
    }
    jobs_.push_back([handler = handler_, method, request, answer](bool is_on) {
      answer->Set(is_on ? (handler->*method)(request)
                        : absl::CancelledError(kLeaving));
    });
  }
  absl::StatusOr<Reply> result = answer->Wait(DeadlineOf(context));
  if (!result.ok()) return ToGrpcStatus(result.status());
  *reply = *std::move(result);
  return grpc::Status::OK;
}

void MeasureService::Serve() {
  bool is_on = true;
  while (is_on) {
    std::deque<Job> jobs;
    {
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(this, &MeasureService::HasWork));
      is_on = !stopped_;
      jobs.swap(jobs_);
    }
    for (const Job& job : jobs) job(is_on);
  }
}

void MeasureService::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
}

grpc::Status MeasureService::Prepare(grpc::ServerContext* context,
                                     const PrepareRequest* request,
                                     PrepareReply* reply) {
  return Answer(&MeasureHandler::Prepare, *context, *request, reply);
}

grpc::Status MeasureService::Measure(grpc::ServerContext* context,
                                     const MeasureRequest* request,
                                     MeasureReply* reply) {
  return Answer(&MeasureHandler::Measure, *context, *request, reply);
}

grpc::Status MeasureService::Transfer(grpc::ServerContext* context,
                                      const TransferRequest* request,
                                      TransferReply* reply) {
  return Answer(&MeasureHandler::Transfer, *context, *request, reply);
}

absl::StatusOr<std::unique_ptr<RpcServer>> StartMeasureServer(
    const std::string& address, MeasureService* service) {
  return RpcServer::Start(
      {.address = address}, [service](grpc::ServerBuilder& builder) {
        builder.SetMaxReceiveMessageSize(kMaxMeasureRequestBytes);
        builder.RegisterService(service);
      });
}

}  // namespace gandem
