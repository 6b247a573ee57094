// SPDX-License-Identifier: Apache-2.0
//
// gRPC service of the coordinator, and a client for other commands. The service
// validates requests, because any process may connect to the socket.
//
// Owner: `gandem train`; the service must outlive its server.
// Thread safety: called on gRPC's threads. Errors: see proto/control.proto.
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
    // Called with each accepted heartbeat that has metrics, and with the first
    // round of the run epoch. Calls may overlap.
    std::function<void(const HeartbeatRequest&, int64_t first_round)>
        on_metrics = nullptr;
    // Adds fields that the coordinator does not know, such as images/s.
    std::function<void(StatusReply&)> complete_status = nullptr;
  };

  // `coordinator` must outlive the service.
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
  // Calls `method`, unless `request` has unknown or damaged fields.
  template <typename Request, typename Reply>
  grpc::Status Answer(
      grpc::ServerContext& context, const Request& request,
      absl::StatusOr<Reply> (Coordinator::*method)(const Request&),
      Reply* reply);

  Coordinator* const coordinator_;
  const Observer observer_;
};

// Maximum size of a request in bytes, for a heartbeat with all metrics.
inline constexpr int kMaxControlRequestBytes = 128 << 10;

// Starts a server for `service`, which must outlive the server. Returns the
// errors of RpcServer::Start.
absl::StatusOr<std::unique_ptr<RpcServer>> StartControlServer(
    RpcServer::Options options, ControlService* service);

// Asks the coordinator at `address` for the status of its run. Null
// `credentials` selects the credentials of the process. Thread safety: any
// thread.
//   UNAVAILABLE, DEADLINE_EXCEEDED  no reply from `address`
absl::StatusOr<StatusReply> QueryStatus(
    absl::string_view address, std::shared_ptr<const Credentials> credentials,
    absl::Time deadline);

}  // namespace gandem
