// SPDX-License-Identifier: Apache-2.0
//
// Whether a server could listen on an address. Nothing listens there when these
// return.
//
// Thread safety: any thread.
// Errors: INVALID_ARGUMENT for an address that makes no sense, ALREADY_EXISTS
// for one that another process listens on, else the system's. All name it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/rpc/address.h"
#include "common/security/credentials.h"

namespace gandem {

// Whether a server with these credentials is allowed to; asks nobody.
//   FAILED_PRECONDITION  other hosts reach the address, and the traffic would
//                        not be encrypted; or see Certificates::CheckServes.
//   INVALID_ARGUMENT     see CheckNoWildcard.
absl::Status CheckMayListen(const Address& address,
                            const Credentials& credentials);

// For processes that have to know before they are ready to serve.
//   FAILED_PRECONDITION  see CheckMayListen.
absl::Status CheckCanListen(absl::string_view address,
                            const Credentials& credentials);

// gRPC takes over a path that another server listens on. A path that nobody
// listens on is left from a killed process and may be taken.
absl::Status CheckUnixSocketIsFree(const Address& address);

// OK: somebody listens there, and this process may connect.
absl::Status CheckUnixSocketAnswers(const Address& address);

// Message about an address that cannot be used.
std::string CannotListen(const Address& address);
absl::Status AddressInUse(const Address& address);

// Listens and stops at once.
absl::Status TryToListen(const Address& address);

}  // namespace gandem
