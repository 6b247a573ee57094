// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/control_service.h"

#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/status.h"

namespace gandem {
namespace {

template <typename Reply>
grpc::Status Answer(absl::StatusOr<Reply> result, Reply* reply) {
  if (!result.ok()) return ToGrpcStatus(result.status());
  *reply = *std::move(result);
  return grpc::Status::OK;
}

}  // namespace

grpc::Status ControlService::Register(grpc::ServerContext* /*context*/,
                                      const RegisterRequest* request,
                                      RegisterReply* reply) {
  return Answer(coordinator_->Register(*request), reply);
}

grpc::Status ControlService::Join(grpc::ServerContext* /*context*/,
                                  const JoinRequest* request,
                                  JoinReply* reply) {
  return Answer(coordinator_->Join(*request), reply);
}

grpc::Status ControlService::Heartbeat(grpc::ServerContext* /*context*/,
                                       const HeartbeatRequest* request,
                                       HeartbeatReply* reply) {
  auto result = coordinator_->Heartbeat(*request);
  if (result.ok() && !result->epoch_superseded() &&
      !request->metrics().empty() && observer_.on_metrics) {
    observer_.on_metrics(*request);
  }
  return Answer(std::move(result), reply);
}

grpc::Status ControlService::ReportShard(grpc::ServerContext* /*context*/,
                                         const ShardReport* request,
                                         ShardReply* reply) {
  return Answer(coordinator_->ReportShard(*request), reply);
}

grpc::Status ControlService::Status(grpc::ServerContext* /*context*/,
                                    const StatusRequest* /*request*/,
                                    StatusReply* reply) {
  *reply = coordinator_->Status();
  if (observer_.complete_status) observer_.complete_status(*reply);
  return grpc::Status::OK;
}

absl::StatusOr<std::unique_ptr<RpcServer>> StartControlServer(
    const RpcServer::Options& options, ControlService* service) {
  return RpcServer::Start(options, [service](grpc::ServerBuilder& builder) {
    builder.RegisterService(service);
  });
}

absl::StatusOr<StatusReply> QueryStatus(absl::string_view address,
                                        absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const auto channel,
                          CreateChannel(address, RpcOptions()));
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(deadline));
  StatusReply reply;
  const grpc::Status status =
      Control::NewStub(channel)->Status(&context, StatusRequest(), &reply);
  if (!status.ok()) return FromGrpcStatus(status);
  return reply;
}

}  // namespace gandem
