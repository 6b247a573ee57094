// SPDX-License-Identifier: Apache-2.0
//
// Channels and server ports whose calls all carry the token of the run, which
// servers check before they read a message. If other hosts can reach the
// address, both sides also check certificates in the handshake.
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

//   FAILED_PRECONDITION  the address is on another host and the traffic would
//                        not be encrypted
absl::Status CheckConnectAddress(const Address& address,
                                 const Credentials& credentials);

// `target` is the address in gRPC's form.
std::shared_ptr<grpc::Channel> GuardedChannel(
    const std::string& target, const Address& address,
    grpc::ChannelArguments arguments,
    std::shared_ptr<const Credentials> credentials);

// Refused calls are counted and logged (common/security/refusals.h). Callers
// get UNAUTHENTICATED and a line that reveals nothing about the run. With
// `offers_health`, grpc.health.v1.Health/Check needs no token, because
// Kubernetes and load balancers cannot send one.
std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials,
    bool offers_health);

// Returns interceptors that damage replies of the control plane in tests (see
// NewControlDamage); empty while no failpoint is armed.
std::vector<
    std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReplyDamage();

}  // namespace gandem
