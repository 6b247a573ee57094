// SPDX-License-Identifier: Apache-2.0
#include "extras/parquet/frame_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace gandem {
namespace {

absl::Status SocketError(absl::string_view action) {
  const int error = errno;
  if (error == EPIPE || error == ECONNRESET) {
    return absl::UnavailableError("the other process is gone");
  }
  if (error == EAGAIN || error == EWOULDBLOCK) {
    return absl::DeadlineExceededError("the other process does not answer");
  }
  return absl::InternalError(
      absl::StrCat("cannot ", action, ": ", std::strerror(error)));
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

FrameSocket::FrameSocket(OwnedFd fd, absl::Duration silence)
    : fd_(std::move(fd)) {
  if (silence == absl::InfiniteDuration()) return;
  const timeval limit = absl::ToTimeval(silence);
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(fd_.get(), SOL_SOCKET, direction, &limit, sizeof(limit));
  }
}

absl::Status FrameSocket::SendAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SocketError("write to a socket");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

absl::Status FrameSocket::Send(DataFrame frame, absl::string_view payload) {
  frame.payload_bytes = static_cast<int64_t>(payload.size());
  absl::Status sent = SendAll(EncodeDataFrame(frame));
  return sent.ok() ? SendAll(payload) : sent;
}

absl::StatusOr<FrameSocket::Received> FrameSocket::Receive() {
  absl::StatusOr<std::string> bytes = ReceiveBytes(kDataFrameBytes);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<DataFrame> frame = DecodeDataFrame(*bytes);
  if (!frame.ok()) return frame.status();
  absl::StatusOr<std::string> payload = ReceiveBytes(frame->payload_bytes);
  if (!payload.ok()) return payload.status();
  return Received{.frame = *frame, .payload = *std::move(payload)};
}

absl::StatusOr<std::string> FrameSocket::ReceiveBytes(int64_t size) {
  // Memory grows with the bytes that arrive, not with the announced size: pages
  // that are not yet written take none.
  constexpr size_t kPiece = size_t{4} << 20;
  const auto wanted = static_cast<size_t>(size);
  std::string bytes;
  bytes.reserve(wanted);
  for (size_t have = 0; have < wanted;) {
    if (have == bytes.size()) bytes.resize(std::min(wanted, have + kPiece));
    const ssize_t got =
        recv(fd_.get(), bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SocketError("read from a socket");
    if (got == 0) return absl::UnavailableError("the other process is gone");
    have += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace gandem
