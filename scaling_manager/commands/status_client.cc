// SPDX-License-Identifier: Apache-2.0
#include "scaling_manager/commands/status_client.h"

#include <grpcpp/grpcpp.h>

#include "common/rpc/channel.h"
#include "common/rpc/grpc_status.h"
#include "common/status.h"
#include "proto/control.grpc.pb.h"

namespace gandem {

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
