// SPDX-License-Identifier: Apache-2.0
//
// The service of `gandem doctor --listen`. Reports the version, the host and
// the content of a proof file, and connects back to the caller on request.
//
// Owner: `gandem doctor`. The service outlives its server.
// Thread safety: gRPC's threads call. Errors: proto/doctor.proto.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/rpc/channel.h"
#include "proto/doctor.grpc.pb.h"

namespace gandem {

class DoctorService final : public Doctor::Service {
 public:
  // `run_dir`: path of the run folder on this host.
  explicit DoctorService(std::string run_dir) : run_dir_(std::move(run_dir)) {}

  grpc::Status Look(grpc::ServerContext* context, const LookRequest* request,
                    LookReply* reply) override;
  grpc::Status Return(grpc::ServerContext* context,
                      const ReturnRequest* request,
                      ReturnReply* reply) override;

 private:
  const std::string run_dir_;
};

// `service` must outlive the server. Errors: those of RpcServer::Start.
absl::StatusOr<std::unique_ptr<RpcServer>> StartDoctorServer(
    const std::string& address, DoctorService* service);

}  // namespace gandem
