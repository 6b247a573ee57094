// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/control_service.h"

#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"

namespace gandem {

grpc::Status ControlService::Register(grpc::ServerContext* /*context*/,
                                      const RegisterRequest* request,
                                      RegisterReply* reply) {
  return AnswerWith(coordinator_->Register(*request), reply);
}

grpc::Status ControlService::Join(grpc::ServerContext* /*context*/,
                                  const JoinRequest* request,
                                  JoinReply* reply) {
  return AnswerWith(coordinator_->Join(*request), reply);
}

grpc::Status ControlService::Heartbeat(grpc::ServerContext* /*context*/,
                                       const HeartbeatRequest* request,
                                       HeartbeatReply* reply) {
  grpc::Status status = AnswerWith(coordinator_->Heartbeat(*request), reply);
  if (status.ok() && !reply->epoch_superseded() &&
      !request->metrics().empty() && observer_.on_metrics) {
    observer_.on_metrics(*request, coordinator_->first_round());
  }
  return status;
}

grpc::Status ControlService::ReportShard(grpc::ServerContext* /*context*/,
                                         const ShardReport* request,
                                         ShardReply* reply) {
  return AnswerWith(coordinator_->ReportShard(*request), reply);
}

grpc::Status ControlService::Status(grpc::ServerContext* /*context*/,
                                    const StatusRequest* /*request*/,
                                    StatusReply* reply) {
  *reply = coordinator_->Status();
  if (observer_.complete_status) observer_.complete_status(*reply);
  return grpc::Status::OK;
}

absl::StatusOr<std::unique_ptr<RpcServer>> StartControlServer(
    RpcServer::Options options, ControlService* service) {
  options.offers_health = true;
  return RpcServer::Start(options, [service](grpc::ServerBuilder& builder) {
    builder.SetMaxReceiveMessageSize(kMaxControlRequestBytes);
    builder.RegisterService(service);
  });
}

absl::StatusOr<StatusReply> QueryStatus(
    absl::string_view address, std::shared_ptr<const Credentials> credentials,
    absl::Time deadline) {
  if (credentials == nullptr) credentials = ProcessCredentials();
  GANDEM_ASSIGN_OR_RETURN(const auto channel,
                          CreateChannel(address, {.credentials = credentials}));
  return CallOnce(*Control::NewStub(channel), &Control::Stub::Status,
                  StatusRequest(), address, *credentials, deadline);
}

}  // namespace gandem
