// SPDX-License-Identifier: Apache-2.0
#include "control_plane/coordinator/control_service.h"

#include <utility>

#include "common/rpc/unary_calls.h"
#include "common/status.h"

namespace gandem {

template <typename Request, typename Reply>
grpc::Status ControlService::Answer(
    grpc::ServerContext& context, const Request& request,
    absl::StatusOr<Reply> (Coordinator::*method)(const Request&),
    Reply* reply) {
  const auto handle = [&] { return (coordinator_->*method)(request); };
  return AnswerChecked(context, request, handle, reply);
}

grpc::Status ControlService::Register(grpc::ServerContext* context,
                                      const RegisterRequest* request,
                                      RegisterReply* reply) {
  return Answer(*context, *request, &Coordinator::Register, reply);
}

grpc::Status ControlService::Join(grpc::ServerContext* context,
                                  const JoinRequest* request,
                                  JoinReply* reply) {
  return Answer(*context, *request, &Coordinator::Join, reply);
}

grpc::Status ControlService::Heartbeat(grpc::ServerContext* context,
                                       const HeartbeatRequest* request,
                                       HeartbeatReply* reply) {
  grpc::Status status =
      Answer(*context, *request, &Coordinator::Heartbeat, reply);
  if (status.ok() && !reply->epoch_superseded() &&
      !request->metrics().empty() && observer_.on_metrics) {
    observer_.on_metrics(*request, coordinator_->first_round());
  }
  return status;
}

grpc::Status ControlService::ReportShard(grpc::ServerContext* context,
                                         const ShardReport* request,
                                         ShardReply* reply) {
  return Answer(*context, *request, &Coordinator::ReportShard, reply);
}

grpc::Status ControlService::Status(grpc::ServerContext* context,
                                    const StatusRequest* request,
                                    StatusReply* reply) {
  const auto handle = [this]() -> absl::StatusOr<StatusReply> {
    StatusReply status = coordinator_->Status();
    if (observer_.complete_status) observer_.complete_status(status);
    return status;
  };
  return AnswerChecked(*context, *request, handle, reply);
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
