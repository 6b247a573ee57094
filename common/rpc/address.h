// SPDX-License-Identifier: Apache-2.0
//
// Where a server listens: "unix:/path" on one host, "host:port" otherwise
// ("[::1]:7000" for IPv6; port 0 lets the system choose).
//
// Thread safety: pure functions, but that one asks for the host's addresses.
// Errors: INVALID_ARGUMENT names the address and what would be accepted.
#pragma once

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

// Traffic is not encrypted yet, so only this host may connect:
//   FAILED_PRECONDITION  another address without `insecure_network`.
//   INVALID_ARGUMENT     0.0.0.0 or [::]: peers are told the address, and
//   cannot
//                        connect to this one; names those that they can.
absl::Status CheckListenAddress(const Address& address, bool insecure_network);

}  // namespace gandem
