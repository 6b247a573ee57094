// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/coordinator/control_service.h"

#include <utility>

#include "common/rpc/grpc_status.h"
#include "common/rpc/unary_calls.h"
#include "common/status.h"

namespace gandem {
namespace {

// Of messages that are arriving, from all who connect over a network.
constexpr int64_t kMemoryBytes = int64_t{32} << 20;
// On a connection. A worker has two at most, `gandem status` one.
constexpr int kMaxCallsPerConnection = 8;

}  // namespace

template <typename Reply>
grpc::Status ControlService::Answer(const grpc::ServerContext& context,
                                    absl::StatusOr<Reply> result,
                                    Reply* reply) {
  if (!result.ok()) return ToGrpcStatus(result.status());
  connections_->NoteKnown(context.peer());
  *reply = *std::move(result);
  return grpc::Status::OK;
}

grpc::Status ControlService::Register(grpc::ServerContext* context,
                                      const RegisterRequest* request,
                                      RegisterReply* reply) {
  return Answer(*context, coordinator_->Register(*request), reply);
}

grpc::Status ControlService::Join(grpc::ServerContext* context,
                                  const JoinRequest* request,
                                  JoinReply* reply) {
  return Answer(*context, coordinator_->Join(*request), reply);
}

grpc::Status ControlService::Heartbeat(grpc::ServerContext* context,
                                       const HeartbeatRequest* request,
                                       HeartbeatReply* reply) {
  auto result = coordinator_->Heartbeat(*request);
  if (result.ok() && !result->epoch_superseded() &&
      !request->metrics().empty() && observer_.on_metrics) {
    observer_.on_metrics(*request);
  }
  return Answer(*context, std::move(result), reply);
}

grpc::Status ControlService::ReportShard(grpc::ServerContext* context,
                                         const ShardReport* request,
                                         ShardReply* reply) {
  return Answer(*context, coordinator_->ReportShard(*request), reply);
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
  options.memory_bytes = kMemoryBytes;
  options.connections = service->connections();
  options.offers_health = true;
  return RpcServer::Start(options, [service](grpc::ServerBuilder& builder) {
    builder.SetMaxReceiveMessageSize(kMaxControlRequestBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               kMaxCallsPerConnection);
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
