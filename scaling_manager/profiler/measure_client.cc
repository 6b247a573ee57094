// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/profiler/measure_client.h"

#include <utility>

#include "common/rpc/channel.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"
#include "proto/measure.grpc.pb.h"

namespace gandem {

struct MeasureClient::Rpc {
  explicit Rpc(std::shared_ptr<grpc::Channel> channel)
      : stub(Measuring::NewStub(std::move(channel))) {}

  const std::unique_ptr<Measuring::Stub> stub;
  UnaryCalls calls{"the call was given up"};
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
  return rpc_->calls.Call(*rpc_->stub, &Measuring::Stub::Prepare, request,
                          deadline);
}

absl::StatusOr<MeasureReply> MeasureClient::Measure(
    const MeasureRequest& request, absl::Time deadline) {
  return rpc_->calls.Call(*rpc_->stub, &Measuring::Stub::Measure, request,
                          deadline);
}

absl::StatusOr<TransferReply> MeasureClient::Transfer(
    const TransferRequest& request, absl::Time deadline) {
  return rpc_->calls.Call(*rpc_->stub, &Measuring::Stub::Transfer, request,
                          deadline);
}

void MeasureClient::Cancel() { rpc_->calls.Cancel(/*for_good=*/true); }

}  // namespace gandem
