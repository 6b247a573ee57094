// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/measure_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "proto/measure.grpc.pb.h"

namespace gandem {

struct MeasureClient::Rpc {
  explicit Rpc(std::shared_ptr<grpc::Channel> channel)
      : stub(Measuring::NewStub(std::move(channel))) {}

  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (Measuring::Stub::*method)(
                                 grpc::ClientContext*, const Request&, Reply*),
                             const Request& request, absl::Time deadline) {
    grpc::ClientContext context;
    context.set_deadline(ToGrpcDeadline(deadline));
    context.set_wait_for_ready(true);
    {
      absl::MutexLock lock(&mu);
      if (cancelled) return absl::CancelledError("the call was given up");
      current = &context;
    }
    Reply reply;
    const grpc::Status status =
        (stub.get()->*method)(&context, request, &reply);
    absl::MutexLock lock(&mu);
    current = nullptr;
    if (!status.ok()) return FromGrpcStatus(status);
    return reply;
  }

  const std::unique_ptr<Measuring::Stub> stub;
  absl::Mutex mu;
  grpc::ClientContext* current ABSL_GUARDED_BY(mu) = nullptr;
  bool cancelled ABSL_GUARDED_BY(mu) = false;
};

absl::StatusOr<std::unique_ptr<MeasureClient>> MeasureClient::Create(
    const std::string& address) {
  GANDEM_ASSIGN_OR_RETURN(const auto channel, CreateChannel(address, {}));
  return std::unique_ptr<MeasureClient>(
      new MeasureClient(std::make_unique<Rpc>(channel)));
}

MeasureClient::MeasureClient(std::unique_ptr<Rpc> rpc) : rpc_(std::move(rpc)) {}

MeasureClient::~MeasureClient() = default;

absl::StatusOr<PrepareReply> MeasureClient::Prepare(
    const PrepareRequest& request, absl::Time deadline) {
  return rpc_->Call(&Measuring::Stub::Prepare, request, deadline);
}

absl::StatusOr<MeasureReply> MeasureClient::Measure(
    const MeasureRequest& request, absl::Time deadline) {
  return rpc_->Call(&Measuring::Stub::Measure, request, deadline);
}

absl::StatusOr<TransferReply> MeasureClient::Transfer(
    const TransferRequest& request, absl::Time deadline) {
  return rpc_->Call(&Measuring::Stub::Transfer, request, deadline);
}

void MeasureClient::Cancel() {
  absl::MutexLock lock(&rpc_->mu);
  rpc_->cancelled = true;
  if (rpc_->current != nullptr) rpc_->current->TryCancel();
}

}  // namespace gandem
