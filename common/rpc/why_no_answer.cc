// SPDX-License-Identifier: Apache-2.0
#include "common/rpc/why_no_answer.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/monotonic_time.h"
#include "common/rpc/address.h"
#include "common/status.h"

namespace gandem {
namespace {

enum class Speaks { kPlain, kTls, kNothing };

// Limits connecting, sending and receiving on `fd`.
void SetTimeout(int fd, absl::Time deadline) {
  const timeval left = absl::ToTimeval(
      std::max(deadline - MonotonicNow(), absl::Milliseconds(1)));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left));
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof(left));
}

// A TLS server shows its certificate. A plain server sends HTTP/2 settings,
// which OpenSSL reports as a wrong version of TLS.
Speaks LanguageOf(int fd) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
      SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()),
                                                      &SSL_free);
  if (tls == nullptr || SSL_set_fd(tls.get(), fd) != 1) return Speaks::kNothing;
  ERR_clear_error();
  SSL_connect(tls.get());
  const int reason = ERR_GET_REASON(ERR_peek_error());
  ERR_clear_error();
  if (SSL_get0_peer_certificate(tls.get()) != nullptr) return Speaks::kTls;
  return reason == SSL_R_WRONG_VERSION_NUMBER ? Speaks::kPlain
                                              : Speaks::kNothing;
}

absl::StatusOr<Speaks> Ask(const Address& address, absl::Time deadline) {
  GANDEM_ASSIGN_OR_RETURN(const auto list, LookUp(address, /*flags=*/0));
  absl::Status why = absl::UnavailableError("it has no address");
  for (const addrinfo* to = list.get(); to != nullptr; to = to->ai_next) {
    const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    const absl::Cleanup close_socket = [fd] { close(fd); };
    SetTimeout(fd, deadline);
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) {
      SetTimeout(fd, deadline);
      return LanguageOf(fd);
    }
    why = absl::UnavailableError(errno == EINPROGRESS ? "nothing answers there"
                                                      : std::strerror(errno));
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
