// SPDX-License-Identifier: Apache-2.0
//
// The client's side of server_guard.h: a channel whose calls all show the token
// of the run, over TLS where the address is not of this host.
//
// Owner: CreateChannel. Thread safety: any thread.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

//   FAILED_PRECONDITION  the address is of another host, and the traffic would
//                        not be encrypted.
absl::Status CheckConnectAddress(const Address& address,
                                 const Credentials& credentials);

// `target` is the address as gRPC takes it. A server whose certificate is
// refused is counted and logged (common/security/refusals.h).
std::shared_ptr<grpc::Channel> GuardedChannel(
    const std::string& target, const Address& address,
    grpc::ChannelArguments arguments,
    std::shared_ptr<const Credentials> credentials);

}  // namespace gandem
