// SPDX-License-Identifier: Apache-2.0
//
// Channels and server ports whose calls, of any service, all show the token of
// the run. A server reads no message of a call before it has seen the token.
// Where other hosts reach the address, both sides also show a certificate,
// which gRPC checks during the handshake.
//
// Owner: CreateChannel and RpcServer. Thread safety: any thread.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

//   FAILED_PRECONDITION  the address is of another host, and the traffic would
//                        not be encrypted.
absl::Status CheckConnectAddress(const Address& address,
                                 const Credentials& credentials);

// `target` is the address as gRPC takes it.
std::shared_ptr<grpc::Channel> GuardedChannel(
    const std::string& target, const Address& address,
    grpc::ChannelArguments arguments,
    std::shared_ptr<const Credentials> credentials);

// Refused calls are counted and logged (common/security/refusals.h). Callers
// get UNAUTHENTICATED and one line that tells nothing of the run. With
// `offers_health`, grpc.health.v1.Health/Check needs no token: Kubernetes and
// load balancers ask it and cannot hold one.
std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials,
    bool offers_health);

// Interceptors by which tests damage answers of the control plane (see
// NewControlDamage); empty while no failpoint is armed.
std::vector<
    std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReplyDamage();

}  // namespace gandem
