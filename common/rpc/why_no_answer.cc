// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/why_no_answer.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/rpc/address.h"
#include "common/status.h"

namespace gandem {
namespace {

constexpr absl::Duration kGreeting = absl::Milliseconds(500);

enum class Speaks { kPlain, kTls, kNothing };

bool WaitFor(int fd, short events, absl::Time deadline) {
  pollfd wanted = {.fd = fd, .events = events, .revents = 0};
  const absl::Duration left =
      std::max(deadline - MonotonicNow(), absl::ZeroDuration());
  return poll(&wanted, 1, static_cast<int>(absl::ToInt64Milliseconds(left))) >
         0;
}

absl::Status Connect(int fd, const addrinfo& to, absl::Time deadline) {
  if (connect(fd, to.ai_addr, to.ai_addrlen) == 0) return absl::OkStatus();
  if (errno != EINPROGRESS) {
    return absl::UnavailableError(std::strerror(errno));
  }
  if (!WaitFor(fd, POLLOUT, deadline)) {
    return absl::DeadlineExceededError("nothing answers there");
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? absl::OkStatus()
                    : absl::UnavailableError(std::strerror(error));
}

// What has come by then; empty: nothing, or the end.
std::string Hear(int fd, absl::Time deadline) {
  char bytes[16];
  if (!WaitFor(fd, POLLIN, deadline)) return "";
  const ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
  return size <= 0 ? "" : std::string(bytes, static_cast<size_t>(size));
}

// The shortest that a TLS server answers (RFC 5246, section 7.4.1.2): version
// 1.2, one cipher of elliptic curves, P-256, ECDSA with SHA-256.
std::string ClientHello() {
  const absl::string_view extensions(
      "\x00\x0a\x00\x04\x00\x02\x00\x17"  // groups
      "\x00\x0b\x00\x02\x01\x00"          // formats of points
      "\x00\x0d\x00\x04\x00\x02\x04\x03",
      22);  // signatures
  const std::string body = absl::StrCat(
      "\x03\x03", std::string(32, 'g'),
      absl::string_view("\x00\x00\x02\xc0\x2b\x01\x00\x00", 8),
      std::string(1, static_cast<char>(extensions.size())), extensions);
  const std::string handshake =
      absl::StrCat(absl::string_view("\x01\x00\x00", 3),
                   std::string(1, static_cast<char>(body.size())), body);
  return absl::StrCat(absl::string_view("\x16\x03\x01\x00", 4),
                      std::string(1, static_cast<char>(handshake.size())),
                      handshake);
}

bool IsTlsRecord(const std::string& bytes) {
  return absl::StartsWith(bytes, "\x16\x03") ||  // its part of the handshake
         absl::StartsWith(bytes, "\x15\x03");    // an alert
}

// A gRPC server without TLS sends its settings at once; one with TLS waits for
// the client.
Speaks LanguageOf(int fd, absl::Time deadline) {
  const absl::Time greeted = std::min(deadline, MonotonicNow() + kGreeting);
  const std::string settings = Hear(fd, greeted);
  if (settings.size() >= 4 && settings[3] == 4) return Speaks::kPlain;
  if (!settings.empty()) return Speaks::kNothing;
  const std::string hello = ClientHello();
  if (send(fd, hello.data(), hello.size(), MSG_NOSIGNAL) < 0) {
    return Speaks::kNothing;
  }
  return IsTlsRecord(Hear(fd, deadline)) ? Speaks::kTls : Speaks::kNothing;
}

absl::StatusOr<Speaks> Ask(const Address& address, absl::Time deadline) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(
      address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &list);
  if (failed != 0) return absl::NotFoundError(gai_strerror(failed));
  const absl::Cleanup free_list = [list] { freeaddrinfo(list); };
  absl::Status why = absl::UnavailableError("it has no address");
  for (const addrinfo* to = list; to != nullptr; to = to->ai_next) {
    const int fd =
        socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) continue;
    const absl::Cleanup close_socket = [fd] { close(fd); };
    why = Connect(fd, *to, deadline);
    if (why.ok()) return LanguageOf(fd, deadline);
  }
  return why;
}

std::string Compared(Speaks there, bool here_tls) {
  if (there == Speaks::kTls && !here_tls) {
    return "it encrypts its connections: leave out --insecure_network here";
  }
  if (there == Speaks::kPlain && here_tls) {
    return "it does not encrypt its connections: leave out --insecure_network "
           "there, or pass it here, too";
  }
  if (there == Speaks::kTls) {
    return "one side refuses the other's certificate, and says why in its log: "
           "do both have the same run folder?";
  }
  return "something listens there, but does not answer in time";
}

}  // namespace

std::string WhyNoAnswer(absl::string_view address,
                        const Credentials& credentials, absl::Time deadline) {
  const absl::StatusOr<Address> parsed = ParseAddress(address);
  if (!parsed.ok()) return std::string(parsed.status().message());
  if (parsed->is_unix()) return "nobody answers";
  const absl::StatusOr<Speaks> there = Ask(*parsed, deadline);
  if (!there.ok()) {
    return absl::StrCat("nobody answers (", there.status().message(), ")");
  }
  return Compared(
      *there, credentials.certificates != nullptr && !StaysOnThisHost(*parsed));
}

absl::Status WithReason(absl::Status failed, absl::string_view address,
                        const Credentials& credentials) {
  if (!absl::IsUnavailable(failed) && !absl::IsDeadlineExceeded(failed)) {
    return failed;
  }
  return Annotate(failed, WhyNoAnswer(address, credentials,
                                      MonotonicNow() + kLookForReason));
}

}  // namespace gandem
