// SPDX-License-Identifier: Apache-2.0
//
// Address of a server: "unix:/path" on one host, otherwise "host:port"
// ("[::1]:7000" for IPv6; with port 0 the system chooses).
//
// Thread safety: pure functions, except that LookUp asks the system.
// Errors: INVALID_ARGUMENT names the address and what would be accepted.
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

// The operating system holds a socket's path in 108 bytes with a final zero.
inline constexpr size_t kMaxUnixPath = 107;

absl::StatusOr<Address> ParseAddress(absl::string_view text);
std::string ToString(const Address& address);

// The socket addresses of a TCP address; `flags` are getaddrinfo's.
//   NOT_FOUND  in the system's words: the host's name has no address.
absl::StatusOr<std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>> LookUp(
    const Address& address, int flags);

// A unix socket, "localhost", 127.0.0.0/8 or ::1. Another host name does not,
// whatever it resolves to. What leaves the host is encrypted, or the network
// is said to be trusted.
bool StaysOnThisHost(const Address& address);

// INVALID_ARGUMENT for 0.0.0.0 and [::]: peers are told the address where a
// server listens, and cannot connect to these.
absl::Status CheckNoWildcard(const Address& address);

}  // namespace gandem
