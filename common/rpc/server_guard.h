// SPDX-License-Identifier: Apache-2.0
//
// How a server listens so that every call, of any service, shows the token of
// the run before a message of it is read; and on addresses that other hosts
// reach, so that only holders of a certificate of the run connect.
//
// Owner: RpcServer. Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <vector>

#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

// The metadata of a call that holds the token.
inline constexpr char kTokenKey[] = "gandem-token";

// Of the standard health service, what those ask who watch a process and cannot
// hold the token of the run (Kubernetes, load balancers). It tells that the
// process answers, and no more.
inline constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";

// What is refused is counted and logged (common/security/refusals.h). Callers
// get UNAUTHENTICATED and one line that tells nothing of the run. With
// `offers_health` kHealthCheck needs no token; where certificates are shown, it
// needs one of those as all else does.
std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials,
    bool offers_health);

// What tests do to answers of the control plane (see NewControlDamage); empty
// while no failpoint is armed.
std::vector<
    std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReplyDamage();

}  // namespace gandem
