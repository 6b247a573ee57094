// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace gandem {
namespace {

absl::Status Bad(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address '", text, "': ", why,
                   "; write unix:/path, host:port or [ipv6]:port"));
}

absl::StatusOr<Address> ParseUnix(absl::string_view text,
                                  absl::string_view path) {
  if (!absl::StartsWith(path, "/")) {
    return Bad(text, "the socket's path is not absolute");
  }
  if (path.size() > kMaxUnixPath) {
    return absl::InvalidArgumentError(
        absl::StrCat("address '", text, "': a socket's path has at most ",
                     kMaxUnixPath, " bytes, this one ", path.size(),
                     "; use a shorter folder, for example one in /tmp"));
  }
  return Address{.unix_path = std::string(path)};
}

// Returns whether a server would listen on all addresses of this host.
bool IsWildcard(const Address& address) {
  if (address.is_unix()) return false;
  in_addr v4;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    return v4.s_addr == htonl(INADDR_ANY);
  }
  in6_addr v6;
  return inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 &&
         std::memcmp(&v6, &in6addr_any, sizeof(v6)) == 0;
}

}  // namespace

// Does not look names up, because only the connecting host may know them.
absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseUnix(text, rest);
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return Bad(text, "there is no port");
  absl::string_view host = text.substr(0, colon);
  const bool bracketed =
      host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return Bad(text, "there is no host");
  in6_addr ignored;
  if (bracketed &&
      inet_pton(AF_INET6, std::string(host).c_str(), &ignored) != 1) {
    return Bad(text, "the brackets hold no IPv6 address");
  }
  if (!bracketed && host.find_first_of(":/[] ") != absl::string_view::npos) {
    return Bad(text, "the host has a character that is not allowed");
  }
  int port = -1;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return Bad(text, "the port is not in [0, 65535]");
  }
  return Address{.host = std::string(host), .port = port};
}

std::string ToString(const Address& address) {
  if (address.is_unix()) return absl::StrCat("unix:", address.unix_path);
  if (absl::StrContains(address.host, ':')) {
    return absl::StrCat("[", address.host, "]:", address.port);
  }
  return absl::StrCat(address.host, ":", address.port);
}

absl::StatusOr<std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>> LookUp(
    const Address& address, int flags) {
  addrinfo hints = {};
  hints.ai_flags = flags;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (failed != 0) return absl::NotFoundError(gai_strerror(failed));
  return std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>(list,
                                                            &freeaddrinfo);
}

bool StaysOnThisHost(const Address& address) {
  if (address.is_unix() || address.host == "localhost") return true;
  in_addr v4;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127;
  }
  in6_addr v6;
  return inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 &&
         std::memcmp(&v6, &in6addr_loopback, sizeof(v6)) == 0;
}

absl::Status CheckNoWildcard(const Address& address) {
  if (!IsWildcard(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "will not listen on ", ToString(address),
      ": the others are told this address and cannot connect to it; give one "
      "of this host: HOST:",
      address.port, " with the name or address by which they reach it"));
}

}  // namespace gandem
