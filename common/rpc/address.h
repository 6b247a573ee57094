// SPDX-License-Identifier: Apache-2.0
//
// Address of a server: "unix:/path" or "host:port" ("[::1]:7000" for IPv6; the
// system chooses a port for 0).
//
// Thread safety: pure functions, except that LookUp asks the system.
// Errors: INVALID_ARGUMENT names the address and the accepted forms.
#pragma once

#include <netdb.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gandem {

struct Address {
  std::string unix_path = {};  // empty: TCP
  std::string host = {};       // without brackets
  int port = 0;

  bool is_unix() const { return !unix_path.empty(); }
  bool operator==(const Address&) const = default;
};

// The operating system limits socket paths to 108 bytes with a final zero.
inline constexpr size_t kMaxUnixPath = 107;

absl::StatusOr<Address> ParseAddress(absl::string_view text);
std::string ToString(const Address& address);

// Returns the socket addresses of a TCP address; `flags` are getaddrinfo's.
//   NOT_FOUND  the host name has no address (system's message)
absl::StatusOr<std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>> LookUp(
    const Address& address, int flags);

// Returns whether traffic stays on this host: a unix socket, "localhost",
// 127.0.0.0/8 or ::1. Other host names count as remote, whatever they resolve
// to. Remote traffic must be encrypted or the network declared trusted.
bool StaysOnThisHost(const Address& address);

// Returns INVALID_ARGUMENT for 0.0.0.0 and [::], which peers cannot use.
absl::Status CheckNoWildcard(const Address& address);

}  // namespace gandem
