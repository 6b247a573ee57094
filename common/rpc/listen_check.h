// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a server could listen on an address, without listening.
//
// Thread safety: any thread.
// Errors: INVALID_ARGUMENT for an invalid address, ALREADY_EXISTS if another
// process listens, else the system's. All name the address.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

// Checks whether these credentials allow listening; does not use the network.
//   FAILED_PRECONDITION  other hosts can reach the address and the traffic
//                        would not be encrypted; or see
//                        Certificates::CheckServes
//   INVALID_ARGUMENT     see CheckNoWildcard
absl::Status CheckMayListen(const Address& address,
                            const Credentials& credentials);

// Checks an address early, before the process is ready to serve.
//   FAILED_PRECONDITION  see CheckMayListen
absl::Status CheckCanListen(absl::string_view address,
                            const Credentials& credentials);

// Refuses a path on which another server listens, because gRPC would take it
// over. A path left by a killed process is free.
absl::Status CheckUnixSocketIsFree(const Address& address);

// Returns OK if a server listens on the path and this process may connect.
absl::Status CheckUnixSocketAnswers(const Address& address);

// Returns the message for an address that cannot be used.
std::string CannotListen(const Address& address);
absl::Status AddressInUse(const Address& address);

// Listens on the address and stops at once.
absl::Status TryToListen(const Address& address);

}  // namespace gandem
