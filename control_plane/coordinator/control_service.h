// SPDX-License-Identifier: Apache-2.0
//
// The coordinator as a gRPC service, and what other commands ask it. What
// arrives was sent by any process that can reach the socket: the coordinator
// checks it.
//
// Owner: `gandem train`; it outlives the server that it is registered with.
// Thread safety: gRPC's threads call. Errors: proto/control.proto.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/rpc/channel.h"
#include "control_plane/coordinator/coordinator.h"
#include "proto/control.grpc.pb.h"

namespace gandem {

class ControlService final : public Control::Service {
 public:
  struct Observer {
    // Gets heartbeats with metrics that the coordinator accepted, and the first
    // round of the run epoch; calls may overlap.
    std::function<void(const HeartbeatRequest&, int64_t first_round)>
        on_metrics = nullptr;
    // Adds what the coordinator does not know (images/s ...).
    std::function<void(StatusReply&)> complete_status = nullptr;
  };

  // `coordinator` outlives this.
  ControlService(Coordinator* coordinator, Observer observer)
      : coordinator_(coordinator), observer_(std::move(observer)) {}

  grpc::Status Register(grpc::ServerContext* context,
                        const RegisterRequest* request,
                        RegisterReply* reply) override;
  grpc::Status Join(grpc::ServerContext* context, const JoinRequest* request,
                    JoinReply* reply) override;
  grpc::Status Heartbeat(grpc::ServerContext* context,
                         const HeartbeatRequest* request,
                         HeartbeatReply* reply) override;
  grpc::Status ReportShard(grpc::ServerContext* context,
                           const ShardReport* request,
                           ShardReply* reply) override;
  grpc::Status Status(grpc::ServerContext* context,
                      const StatusRequest* request,
                      StatusReply* reply) override;

 private:
  // Of a worker's call, if it arrived whole.
  template <typename Request, typename Reply>
  grpc::Status Answer(
      grpc::ServerContext& context, const Request& request,
      absl::StatusOr<Reply> (Coordinator::*method)(const Request&),
      Reply* reply);

  Coordinator* const coordinator_;
  const Observer observer_;
};

// Of a request. The largest is a heartbeat with all the metrics that one may
// bring.
inline constexpr int kMaxControlRequestBytes = 128 << 10;

// `service` outlives the server. Errors: those of RpcServer::Start.
absl::StatusOr<std::unique_ptr<RpcServer>> StartControlServer(
    RpcServer::Options options, ControlService* service);

// How far a run is. From any thread. Null `credentials`: those of the process.
//   UNAVAILABLE, DEADLINE_EXCEEDED  nobody answers at `address`.
absl::StatusOr<StatusReply> QueryStatus(
    absl::string_view address, std::shared_ptr<const Credentials> credentials,
    absl::Time deadline);

}  // namespace gandem
