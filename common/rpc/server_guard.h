// SPDX-License-Identifier: Apache-2.0
//
// How a server listens so that every call, of any service, shows the token of
// the run before a message of it is read; and on addresses that other hosts
// reach, so that only holders of a certificate of the run connect.
//
// Owner: RpcServer. Thread safety: gRPC's threads.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

// The metadata of a call that holds the token.
inline constexpr char kTokenKey[] = "gandem-token";

// What is refused is counted and logged (common/security/refusals.h). Callers
// get UNAUTHENTICATED and one line that tells nothing of the run.
std::shared_ptr<grpc::ServerCredentials> GuardedServerCredentials(
    const Address& address, std::shared_ptr<const Credentials> credentials);

}  // namespace gandem
