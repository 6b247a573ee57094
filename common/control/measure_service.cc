// SPDX-License-Identifier: Apache-2.0
#include "common/control/measure_service.h"

#include <algorithm>
#include <future>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/files/text_proto.h"
#include "common/rpc/grpc_status.h"

namespace gandem {
namespace {

// Maximum size of a config as text, plus 64 KiB.
constexpr int kMaxMeasureRequestBytes = kMaxTextProtoBytes + (64 << 10);
// For callers without a deadline.
constexpr absl::Duration kLongestMeasureCall = absl::Hours(1);
constexpr char kLeaving[] = "the worker is leaving";

}  // namespace

template <typename Request, typename Reply>
grpc::Status MeasureService::Answer(
    absl::StatusOr<Reply> (MeasureHandler::*method)(const Request&),
    const grpc::ServerContext& context, const Request& request, Reply* reply) {
  // Shared, because the caller may stop waiting before the answer is set.
  const auto answer = std::make_shared<std::promise<absl::StatusOr<Reply>>>();
  {
    absl::MutexLock lock(&mu_);
    if (stopped_) return ToGrpcStatus(absl::CancelledError(kLeaving));
    jobs_.push_back([handler = handler_, method, request, answer](bool is_on) {
      answer->set_value(is_on ? (handler->*method)(request)
                              : absl::CancelledError(kLeaving));
    });
  }
  const absl::Duration left =
      absl::FromChrono(context.deadline()) - absl::Now();
  auto future = answer->get_future();
  if (future.wait_for(absl::ToChronoNanoseconds(
          std::min(left, kLongestMeasureCall))) != std::future_status::ready) {
    return ToGrpcStatus(absl::DeadlineExceededError("still computing"));
  }
  absl::StatusOr<Reply> result = future.get();
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
